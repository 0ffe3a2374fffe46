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

	"github.com/hashicorp/raft"
)

// kill ends a node without a word to the others, as far as that goes in a process.
func (c *cluster) kill(i int) {
	c.stores[i].nodes[0].stop()
	c.stop(i)
}

// snapshots takes one of each node, where there is anything new.
func (c *cluster) snapshots() {
	c.t.Helper()
	for _, s := range c.stores {
		// Two within a millisecond have the same name, and one is refused.
		eventually(c.t, func() string {
			if err := s.nodes[0].raft.Snapshot().Error(); err != nil && !errors.Is(err, raft.ErrNothingNewToSnapshot) {
				return err.Error()
			}
			return ""
		})
	}
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
	leader := c.leader()
	follower := (leader + 1) % 3
	eventually(t, func() string {
		if c.stores[follower].Stats().Leader == "" {
			return "the follower has not heard of the leader"
		}
		return ""
	})
	_, err := put(c.stores[follower], "two")
	var named *NotLeaderError
	if !errors.Is(err, ErrNotLeader) || !errors.As(err, &named) {
		t.Fatalf("a follower answers %v", err)
	}
	if named.Leader != c.peers[leader].ID || named.Addr != c.peers[leader].Addr {
		t.Errorf("%v: the leader is %v", err, c.peers[leader])
	}
	c.check(l)
	if got := recovered(t, c.nodeDir(0)); len(got) != 1 {
		t.Errorf("the log has %q", got)
	}
}

func TestKilledFollowerCatchesUp(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		adjust func(*Options)
		past   bool // what raft's log of the others reaches back to
	}{
		{"from raft's log", nil, false},
		{"past a snapshot", func(o *Options) { o.SnapshotBytes, o.Trailing, o.SegmentBytes = 4096, 1, 16<<10 }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, test.adjust)
			c.start(0, 1, 2)
			l := newLedger()
			c.mustPut(l, "before")
			c.settle()
			follower := (c.leader() + 1) % 3
			had := c.stores[follower].nodes[0].raft.AppliedIndex()
			c.kill(follower)
			for n := range 100 {
				c.mustPut(l, fmt.Sprintf("while it is away %d %s", n, strings.Repeat("x", 200)))
			}
			if test.past {
				leader := c.stores[c.leader()].nodes[0]
				eventually(t, func() string {
					if first, err := leader.disk.FirstIndex(); err != nil || first <= had+1 {
						return fmt.Sprintf("raft's log begins with %d, the follower has %d: %v", first, had, err)
					}
					return ""
				})
			}
			c.start(follower)
			c.mustPut(l, "after")
			c.check(l)
		})
	}
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
		if !e.IsDir() && e.Name() != "LOCK" {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	if len(names) == 0 {
		t.Fatalf("%s has no segments", dir)
	}
	return names // sorted by ReadDir, and so by their first record
}

func cut(t *testing.T, name string, bytes int64) {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, max(0, info.Size()-bytes)); err != nil {
		t.Fatal(err)
	}
}

func TestTornTailIsRepaired(t *testing.T) {
	t.Parallel()
	for n, test := range []struct {
		name   string
		adjust func(*Options)
		tear   func(t *testing.T, dir string)
	}{
		{"in the last record", nil, func(t *testing.T, dir string) { cut(t, lastSegment(t, dir), 3) }},
		{"in the middle of a batch", nil, func(t *testing.T, dir string) { cut(t, lastSegment(t, dir), 450) }},
		{"all of it", nil, func(t *testing.T, dir string) { cut(t, lastSegment(t, dir), 1<<40) }},
		{
			"before the last snapshot",
			func(o *Options) { o.SnapshotBytes, o.Trailing = 1000, 1 },
			func(t *testing.T, dir string) { cut(t, lastSegment(t, dir), 3000) },
		},
		{
			"no segment left",
			func(o *Options) { o.SnapshotBytes, o.Trailing, o.SegmentBytes = 1000, 1, 2048 },
			func(t *testing.T, dir string) {
				for _, name := range segments(t, dir) {
					if err := os.Remove(name); err != nil {
						t.Fatal(err)
					}
				}
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, test.adjust)
			c.start(0, 1, 2)
			l := newLedger()
			for n := range 10 {
				var batch []string
				for i := range 5 {
					batch = append(batch, fmt.Sprintf("%d.%d %s", n, i, strings.Repeat("y", 100)))
				}
				c.mustPut(l, batch...)
			}
			c.settle()
			if test.adjust != nil {
				c.snapshots()
			}
			torn := (c.leader() + n%2) % 3 // the leader or a follower
			c.kill(torn)
			test.tear(t, c.nodeDir(torn))
			c.start(torn)
			c.mustPut(l, "after")
			c.check(l)
		})
	}
}

// Nothing of a node's log is left, nor of the others': what raft's log has
// still comes back, what it has not is missed, and said.
func TestMissingEverywhere(t *testing.T) {
	t.Parallel()
	c := newCluster(t, func(o *Options) { o.SnapshotBytes, o.Trailing = 500, 1 })
	c.start(0, 1, 2)
	l := newLedger()
	for n := range 20 {
		c.mustPut(l, fmt.Sprintf("%d %s", n, strings.Repeat("z", 100)))
	}
	c.settle()
	c.snapshots()
	c.closeAll()
	for i := range 3 {
		cut(t, lastSegment(t, c.nodeDir(i)), 1<<40)
	}
	for i := range 3 {
		o := c.options(i)
		o.fillPatience = time.Second
		s, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		c.stores[i] = s
	}
	eventually(t, func() string {
		for _, s := range c.stores {
			if _, err := put(s, "more"); errors.Is(err, ErrFailed) && strings.Contains(err.Error(), "missing") {
				return ""
			}
		}
		return "no node says that records are missing"
	})
}

// Kills, restarts, torn tails and snapshots at random under load.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	randomHistory(t, rand.New(rand.NewPCG(seed, 1)), 12)
}

func randomHistory(t *testing.T, r *rand.Rand, steps int) {
	c := newCluster(t, func(o *Options) {
		o.SnapshotBytes = 300 + r.Int64N(5000)
		o.Trailing = 1 + r.Uint64N(50)
		o.SegmentBytes = 500 + r.Int64N(8000)
		o.BatchBytes = 100 + r.IntN(2000)
	})
	c.start(0, 1, 2)
	l := newLedger()
	down := -1
	for step := range steps {
		running := slices.Clone(c.stores)
		stop := c.load(l, fmt.Sprintf("step %d", step), func() []*Store { return running })
		c.await(l, 1+r.IntN(40))
		what := r.IntN(5)
		switch {
		case down >= 0 && what < 3:
			if r.IntN(2) == 0 {
				names := segments(t, c.nodeDir(down))
				cut(t, names[len(names)-1], r.Int64N(2000))
			}
			c.start(down)
			down = -1
		case down < 0 && what < 3:
			// Which one is as likely to lead as not.
			if down = c.leader(); r.IntN(2) == 0 {
				down = (down + 1) % 3
			}
			c.kill(down)
		case what == 3:
			for _, s := range c.stores {
				if s != nil {
					s.nodes[0].raft.Snapshot().Error() // there may be nothing new
				}
			}
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
