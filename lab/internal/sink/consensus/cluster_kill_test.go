package consensus

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

// kill ends a node without a word to the others, as far as that goes in a process.
func (c *cluster) kill(i int) {
	c.stores[i].nodes[0].stop()
	c.stop(i)
}

// await waits until so many more records are acknowledged.
func (c *cluster) await(l *ledger, more int) {
	c.t.Helper()
	want := l.len() + more
	eventually(c.t, func() string {
		if have := l.len(); have < want {
			return fmt.Sprintf("%d of %d acknowledgements", have, want)
		}
		return ""
	})
}

func TestLeaderKilledUnderLoad(t *testing.T) {
	t.Parallel()
	c := newCluster(t, nil)
	c.start(0, 1, 2)
	l := newLedger()
	all := slices.Clone(c.stores) // an append to one that is closed fails, and that is all
	stop := c.load(l, "load", func() []*Store { return all })
	defer stop()
	c.await(l, 50)
	killed := c.leader()
	c.kill(killed)
	if next := c.leader(); next == killed {
		t.Fatal("the killed node leads")
	}
	c.await(l, 50)
	stop()
	c.start(killed)
	c.check(l)
}

func TestFollowerRefusesAndNamesTheLeader(t *testing.T) {
	t.Parallel()
	c := newCluster(t, nil)
	c.start(0, 1, 2)
	l := newLedger()
	c.mustPut(l, "one")
	// leads returns the node that leads, and whether it and the follower have the same term.
	leads := func(follower int) (leader int, term uint64, same bool) {
		leader = c.leader()
		at, behind := c.stores[leader].Stats(), c.stores[follower].Stats()
		return leader, at.Term, at.Term == behind.Term && leader != follower
	}
	var refused []string
	eventually(t, func() string {
		follower := (c.leader() + 1) % 3
		known(t, c.stores[follower])
		before, term, same := leads(follower)
		if !same {
			return "the leader changes"
		}
		payload := fmt.Sprint("two ", len(refused))
		first, err := put(c.stores[follower], payload)
		if err == nil {
			l.add(t, first, []string{payload})
		} else if errors.Is(err, ErrNotLeader) {
			refused = append(refused, payload)
		}
		// A leader that gets no time may be given up: the answer is of another then.
		if after, now, same := leads(follower); !same || after != before || now != term {
			return "the leader has changed"
		}
		if !errors.Is(err, ErrNotLeader) {
			t.Fatalf("a follower answers %v", err)
		}
		if strings.Contains(err.Error(), "knows of none") {
			return "the follower has lost its leader for a while"
		}
		if named := fmt.Sprintf("%s at %s is", c.peers[before].ID, c.peers[before].Addr); !strings.HasSuffix(err.Error(), named) {
			t.Errorf("%v: the leader is %v", err, c.peers[before])
		}
		return ""
	})
	c.check(l)
	for _, record := range recovered(t, c.nodeDir(0)) {
		if slices.Contains(refused, record) {
			t.Errorf("the log has %q, which was refused", record)
		}
	}
}

func TestKilledFollowerCatchesUp(t *testing.T) {
	t.Parallel()
	c := newCluster(t, func(o *Options) { o.SegmentBytes = 4 << 10 })
	c.start(0, 1, 2)
	l := newLedger()
	c.mustPut(l, "before")
	c.settle()
	follower := (c.leader() + 1) % 3
	c.kill(follower)
	for n := range 100 {
		c.mustPut(l, fmt.Sprintf("while it is away %d %s", n, strings.Repeat("x", 200)))
	}
	c.start(follower)
	c.mustPut(l, "after")
	c.check(l)
}

// lastSegment is the file that a log ends with.
func lastSegment(t *testing.T, dir string) string {
	t.Helper()
	names := segments(t, dir)
	return names[len(names)-1]
}

func segments(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), wal.Suffix) {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	if len(names) == 0 {
		t.Fatalf("%s has no segments", dir)
	}
	return names // sorted by ReadDir, and so by their first record
}

// What a crash leaves behind the last entry is cut off.
func TestTornTailIsRepaired(t *testing.T) {
	t.Parallel()
	for n, name := range []string{"the leader", "a follower"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, nil)
			c.start(0, 1, 2)
			l := newLedger()
			for n := range 10 {
				c.mustPut(l, fmt.Sprint(n, strings.Repeat("y", 100)))
			}
			c.settle()
			torn := (c.leader() + n) % 3
			c.kill(torn)
			tear(t, c.nodeDir(torn), 77)
			c.start(torn)
			if s := c.stores[torn].Stats().Nodes[0]; !strings.Contains(s.Recovered, "77 bytes") {
				t.Errorf("%+v", s)
			}
			c.mustPut(l, "after")
			c.check(l)
		})
	}
}

// tear leaves so many bytes of an entry behind a log.
func tear(t *testing.T, dir string, bytes int) {
	t.Helper()
	f, err := os.OpenFile(lastSegment(t, dir), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, bytes)); err != nil {
		t.Fatal(err)
	}
}

// Kills, restarts, torn tails and changes of the leader at random under load.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	randomHistory(t, rand.New(rand.NewPCG(seed, 1)), 12)
}

func randomHistory(t *testing.T, r *rand.Rand, steps int) {
	c := newCluster(t, func(o *Options) {
		o.SegmentBytes = 500 + r.Int64N(8000)
		o.batchBytes = 100 + r.IntN(2000)
	})
	c.start(0, 1, 2)
	l := newLedger()
	down := -1
	for step := range steps {
		running := slices.Clone(c.stores)
		stop := c.load(l, fmt.Sprintf("step %d", step), func() []*Store { return running })
		c.await(l, 1+r.IntN(40))
		what := r.IntN(4)
		switch {
		case down >= 0 && what < 3:
			if r.IntN(2) == 0 {
				tear(t, c.nodeDir(down), 1+r.IntN(2000))
			}
			c.start(down)
			down = -1
		case down < 0 && what < 3:
			// Which one is as likely to lead as not.
			if down = c.leader(); r.IntN(2) == 0 {
				down = (down + 1) % 3
			}
			c.kill(down)
		default:
			c.stores[c.leader()].nodes[0].raft.LeadershipTransfer().Error() // or not
		}
		c.await(l, 1+r.IntN(40))
		stop()
	}
	if down >= 0 {
		c.start(down)
	}
	c.mustPut(l, "the last")
	c.check(l)
}
