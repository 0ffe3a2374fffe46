//go:build linux

package realtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/internal/soak"
	"github.com/sluice-go/sluice/lab/internal/sink/consensus"
	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

// lastSegment is the file that the log in dir ends with.
func lastSegment(t testing.TB, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"+wal.Suffix))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s has no segments: %v", dir, err)
	}
	slices.Sort(names)
	return names[len(names)-1]
}

// segmentHeader is the length of what comes before the records of a file.
const segmentHeader = 32

// kills says how long sinks are killed, and what is watched meanwhile.
type kills struct {
	more  func(kills int) bool
	watch *soak.Watch // may be nil
}

// ledger is one that notes in the watch how long answers took.
func (k kills) ledger() *ledger {
	l := new(ledger)
	if k.watch != nil {
		l.took = k.watch.Latency
	}
	return l
}

// follow watches a sink, which has taken the place of one that was killed.
func (k kills) follow(s *sink) {
	if k.watch != nil {
		k.watch.Follow(s.cmd.Process.Pid)
	}
}

// killSync kills a sink of --durability sync so many times under load, and looks
// each time whether everything is there that was acknowledged since the beginning.
func killSync(t *testing.T, r *rand.Rand, until kills) {
	dir := filepath.Join(t.TempDir(), "log")
	flags := []string{"--durability", "sync", "--segment", "256KiB"}
	s := startSink(t, "sync", loopback.Free(t), dir, flags...)
	l := until.ledger()
	for kills := 0; until.more(kills); kills++ {
		until.follow(s)
		o := (&load{addrs: []string{s.addr}, conns: 8, depth: 4, size: 4000, ledger: l}).run(r)
		l.await(t, 1+r.IntN(150))
		s.kill()
		o.stop()
		// A write that the end of the machine would have torn, in a file that has got so
		// far that records are written to it.
		if name := lastSegment(t, dir); r.IntN(2) == 0 && fileSize(t, name) >= segmentHeader {
			f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				t.Fatal(err)
			}
			torn := make([]byte, 1+r.IntN(300))
			for i := range torn {
				torn[i] = byte(r.Uint32())
			}
			if _, err := f.Write(torn); err != nil {
				t.Fatal(err)
			}
			f.Close()
		}
		mustHold(t, l, dir)
		s = startSink(t, "sync", s.addr, dir, flags...)
	}
	s.term(t)
	v := mustHold(t, l, dir)
	if v.Logs[0].Torn > 0 {
		t.Errorf("the log is still torn: %+v", v)
	}
}

func TestSyncLosesNothing(t *testing.T) {
	t.Parallel()
	killSync(t, random(t), kills{more: func(kills int) bool { return kills < 3 }})
}

// What async loses in a kill is the newest, no more bytes than it says that it holds, and
// nothing that it has said is written.
func TestAsyncLosesWithinItsWindow(t *testing.T) {
	t.Parallel()
	r := random(t)
	const holds = 64 << 20 // bytes, as the sink's first line says
	for range 3 {
		dir := filepath.Join(t.TempDir(), "log")
		s := startSink(t, "async", loopback.Free(t), dir, "--durability", "async", "--sync-every", "300ms")
		if !strings.Contains(s.window, "at most 64 MiB") {
			t.Fatalf("the window is %q", s.window)
		}
		l := new(ledger)
		o := (&load{addrs: []string{s.addr}, conns: 8, depth: 64, size: 30_000, ledger: l}).run(r)
		// There has to be something that must not be lost.
		eventually(t, lengthened(30*time.Second), func() string {
			if n := s.written(t); n < 100 {
				return fmt.Sprintf("%d records are written", n)
			}
			return ""
		})
		l.await(t, 1+r.IntN(1000))
		s.kill()
		written := s.written(t)
		o.stop()
		recovered := uint64(0)
		if _, err := wal.Scan(dir, func(index uint64, _ []byte) error { recovered = index; return nil }); err != nil {
			t.Fatal(err)
		}
		lost, bytes := 0, 0
		for _, a := range l.entries {
			if a.index > recovered {
				lost++
				bytes += int(a.length)
			}
		}
		t.Logf("%d acknowledged, %d said to be written, %d recovered, %d lost of %d bytes; %s",
			len(l.entries), written, recovered, lost, bytes, s.window)
		if bytes > holds {
			t.Errorf("%d bytes are lost that were acknowledged", bytes)
		}
		if recovered < written {
			t.Errorf("%d records are recovered, %d were said to be written", recovered, written)
		}
		// Nothing else is there under the numbers that were acknowledged, and what
		// is missing is counted.
		v, code := verify(t, l.file(t), dir)
		if v.Acked.Wrong > 0 || v.Acked.Missing != uint64(lost) || (code == 0) != (lost == 0) {
			t.Errorf("verify ended with %d: %+v", code, v)
		}
	}
}

// killRaft kills nodes of a cluster under load, the leader as often as not, some
// with a torn record on top; one in a while all of them.
func killRaft(t *testing.T, r *rand.Rand, until kills) {
	c := newCluster(t, "--segment", "128KiB")
	c.start(0, 1, 2)
	l := until.ledger()
	o := (&load{addrs: c.addrs, conns: 8, depth: 4, size: 3000, ledger: l}).run(r)
	l.await(t, 20)
	for kills := 0; until.more(kills); kills++ {
		until.follow(c.nodes[0])
		l.await(t, 1+r.IntN(150))
		if kills%4 == 3 {
			for i := range c.nodes {
				c.kill(i)
			}
			c.start(0, 1, 2)
			l.await(t, 1)
			continue
		}
		killed := r.IntN(3)
		if leads := c.leader(); kills%2 == 0 {
			killed = leads
		}
		c.kill(killed)
		// The other two go on.
		l.await(t, 1+r.IntN(100))
		if r.IntN(2) == 0 {
			name := lastSegment(t, c.dirs[killed])
			if err := os.Truncate(name, max(0, fileSize(t, name)-r.Int64N(5000))); err != nil {
				t.Fatal(err)
			}
		}
		c.start(killed)
	}
	// All at once: what was acknowledged is with one of them at least, as they lie.
	for i := range c.nodes {
		c.kill(i)
	}
	o.stop()
	mustHold(t, l, c.dirs...)
	// And after a start with all of them, whatever they had.
	c.start(0, 1, 2)
	before, redials := l.len(), o.redials.Load()
	o = (&load{addrs: c.addrs, conns: 1, size: 100, ledger: l}).run(r)
	l.await(t, 1)
	o.stop()
	c.mustEndAlike(l)
	t.Logf("%d acknowledged with kills, %d connections were made anew", before, redials)
}

// mustEndAlike ends a cluster and compares its logs record by record: each has
// everything that was acknowledged, and what one has more than another comes behind.
func (c *cluster) mustEndAlike(l *ledger) {
	t := c.t
	t.Helper()
	c.settle(l)
	c.term()
	v := mustHold(t, l, c.dirs...)
	for _, log := range v.Logs {
		if log.Last < l.last() {
			t.Errorf("%s ends with record %d, %d was acknowledged", log.Dir, log.Last, l.last())
		}
	}
	var longest []string
	for _, dir := range c.dirs {
		var all []string
		if _, err := consensus.Scan(dir, func(_ uint64, record []byte) error {
			text, _, _ := strings.Cut(string(record), "x") // what is before the padding is unique
			all = append(all, fmt.Sprint(text, len(record)))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		seen := make(map[string]bool, len(all))
		for n, text := range all {
			if seen[text] {
				t.Fatalf("%q is in %s twice, the second time as record %d", text, dir, n+1)
			}
			seen[text] = true
		}
		if both := min(len(all), len(longest)); !slices.Equal(all[:both], longest[:both]) {
			t.Fatalf("%s has other records than another node", dir)
		}
		if len(all) > len(longest) {
			longest = all
		}
	}
}

// A leader that stands still, as a machine that is paused does, is replaced; when it
// goes on, nothing that it answers then is wrong, and it follows.
func TestLeaderStandsStill(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0, 1, 2)
	l := new(ledger)
	o := (&load{addrs: c.addrs, conns: 8, depth: 4, size: 3000, timeout: time.Second, ledger: l}).run(random(t))
	l.await(t, 50)
	old := c.nodes[c.leader()]
	if err := old.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// What was under way to it may still come, from a socket's buffer.
	l.await(t, 60)
	if err := old.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	l.await(t, 20)
	o.stop()
	c.settle(l)
	if n := old.stats(t).Raft.Nodes; n[0].State != "Follower" && n[0].State != "Leader" {
		t.Errorf("the node that stood still is %+v", n[0])
	}
	c.mustEndAlike(l)
}

func TestRaftLosesNothing(t *testing.T) {
	t.Parallel()
	killRaft(t, random(t), kills{more: func(kills int) bool { return kills < 3 }})
}

// The three nodes of a trio die together.
func TestTrioLosesNothing(t *testing.T) {
	t.Parallel()
	r := random(t)
	dir := filepath.Join(t.TempDir(), "trio")
	l := new(ledger)
	addr := loopback.Free(t)
	for range 2 {
		s := startSink(t, "trio", addr, dir, "--durability", "raft", "--trio")
		addr = s.addr
		o := (&load{addrs: []string{addr}, conns: 8, depth: 4, size: 3000, ledger: l}).run(r)
		l.await(t, 20+r.IntN(150))
		s.kill()
		o.stop()
		mustHold(t, l, dir)
	}
	s := startSink(t, "trio", addr, dir, "--durability", "raft", "--trio")
	o := (&load{addrs: []string{addr}, conns: 1, size: 100, ledger: l}).run(r)
	l.await(t, 1)
	o.stop()
	s.term(t)
	mustHold(t, l, dir)
}
