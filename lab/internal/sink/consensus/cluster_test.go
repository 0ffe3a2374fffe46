package consensus

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/internal/testdisk"
	"github.com/sluice-go/sluice/mem"
)

// soon is a heartbeat for tests: elections take some tenths of a second.
const soon = 300 * time.Millisecond

// limit bounds what a test waits for, on a busy machine.
const limit = 2 * time.Minute

// eventually asks until f has nothing to complain of.
func eventually(t testing.TB, f func() string) {
	t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		complaint := f()
		if complaint == "" {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("after %v still: %s", limit, complaint)
		}
	}
}

// testLog writes to the test, as long as it runs.
func testLog(t testing.TB) *slog.Logger {
	w := &testWriter{t: t}
	t.Cleanup(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.t = nil
	})
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

type testWriter struct {
	mu sync.Mutex
	t  testing.TB
}

func (w *testWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.t != nil {
		w.t.Logf("%s", p[:len(p)-1])
	}
	return len(p), nil
}

// A cluster is three stores of one node each, as in three processes.
type cluster struct {
	t      *testing.T
	dir    string
	peers  []Peer
	adjust func(o *Options)
	stores []*Store // nil while a node is down
}

func newCluster(t *testing.T, adjust func(*Options)) *cluster {
	c := &cluster{t: t, dir: testdisk.Dir(t), adjust: adjust, stores: make([]*Store, 3)}
	for i := range 3 {
		c.peers = append(c.peers, Peer{ID: string(rune('a' + i)), Addr: loopback.Free(t)})
	}
	return c
}

func (c *cluster) options(i int) Options {
	o := Options{
		Dir: c.nodeDir(i), ID: c.peers[i].ID, Peers: c.peers,
		heartbeat: soon, leaderWait: time.Second, Log: testLog(c.t), shutdown: limit,
	}
	if c.adjust != nil {
		c.adjust(&o)
	}
	return o
}

func (c *cluster) nodeDir(i int) string { return filepath.Join(c.dir, c.peers[i].ID) }

func (c *cluster) start(nodes ...int) {
	c.t.Helper()
	for _, i := range nodes {
		s, err := Open(c.options(i))
		if err != nil {
			c.t.Fatalf("node %d: %v", i, err)
		}
		c.stores[i] = s
		c.t.Cleanup(func() { s.Close() })
	}
}

func (c *cluster) stop(i int) {
	c.stores[i].Close()
	c.stores[i] = nil
}

// leader waits for one.
func (c *cluster) leader() int {
	c.t.Helper()
	found := -1
	eventually(c.t, func() string {
		for i, s := range c.stores {
			if s != nil && s.Stats().Nodes[0].State == "Leader" {
				found = i
				return ""
			}
		}
		return "no node leads"
	})
	return found
}

// A ledger is what was acknowledged; safe for concurrent use.
type ledger struct {
	mu    sync.Mutex
	acked map[uint64]string
	count int
}

func newLedger() *ledger { return &ledger{acked: make(map[uint64]string)} }

func (l *ledger) add(t testing.TB, first uint64, payloads []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, p := range payloads {
		at := first + uint64(i)
		if other, taken := l.acked[at]; taken {
			t.Errorf("number %d was acknowledged for %q and for %q", at, other, p)
		}
		l.acked[at] = p
		l.count++
	}
}

func (l *ledger) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// put appends payloads and waits for the answer.
func put(s *Store, payloads ...string) (first uint64, err error) {
	records := make([]mem.Buf, len(payloads))
	for i, p := range payloads {
		records[i] = mem.Default().Get(len(p))
		copy(records[i].Bytes(), p)
	}
	type answer struct {
		first uint64
		err   error
	}
	answers := make(chan answer, 1)
	s.Append(records, func(first uint64, err error) { answers <- answer{first, err} })
	a := <-answers
	return a.first, a.err
}

// mustPut appends payloads until a leader accepts them. After an error in doubt the
// records may be in the log, so that the next try has other payloads.
func (c *cluster) mustPut(l *ledger, payloads ...string) {
	c.t.Helper()
	var errs []error
	eventually(c.t, func() string {
		for _, s := range c.stores {
			if s == nil {
				continue
			}
			if len(errs) > 0 && !errors.Is(errs[len(errs)-1], ErrNotLeader) {
				payloads = slices.Clone(payloads)
				for i := range payloads {
					payloads[i] += " again"
				}
			}
			first, err := put(s, payloads...)
			if err == nil {
				l.add(c.t, first, payloads)
				return ""
			}
			errs = append(errs, err)
		}
		return fmt.Sprint(errors.Join(errs...))
	})
}

// load appends from several goroutines, each to whichever store takes it, until
// the function that it returns is called.
func (c *cluster) load(l *ledger, name string, stores func() []*Store) (stop func()) {
	quit := make(chan struct{})
	var running sync.WaitGroup
	for w := range 4 {
		running.Go(func() {
			for n := 0; ; n++ {
				for _, s := range stores() {
					select {
					case <-quit:
						return
					default:
					}
					if s == nil {
						continue
					}
					payloads := make([]string, 1+n%3)
					for i := range payloads {
						payloads[i] = fmt.Sprintf("%s %d.%d.%d", name, w, n, i)
					}
					n++
					if first, err := put(s, payloads...); err == nil {
						l.add(c.t, first, payloads)
					}
				}
			}
		})
	}
	return sync.OnceFunc(func() {
		close(quit)
		running.Wait()
	})
}

// known waits until a node knows of a leader, and returns its name.
func known(t testing.TB, s *Store) (leader string) {
	t.Helper()
	eventually(t, func() string {
		if leader = s.Stats().Leader; leader == "" {
			return "no leader is known"
		}
		return ""
	})
	return leader
}

// settle waits until all nodes that run have applied the same number of records,
// at least as many as were acknowledged.
func settle(t *testing.T, stats func() []NodeStats) {
	t.Helper()
	eventually(t, func() string {
		nodes := stats()
		for _, n := range nodes {
			if n.Last != nodes[0].Last || n.Applied != nodes[0].Applied {
				return fmt.Sprintf("not alike: %+v", nodes)
			}
		}
		return ""
	})
}

func (c *cluster) settle() {
	c.t.Helper()
	settle(c.t, func() (all []NodeStats) {
		for _, s := range c.stores {
			if s != nil {
				all = append(all, s.Stats().Nodes...)
			}
		}
		return all
	})
}

// recovered reads the log of a node.
func recovered(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	c, err := Scan(dir, func(index uint64, record []byte) error {
		if index != uint64(len(all))+1 {
			return fmt.Errorf("record %d is followed by %d", len(all), index)
		}
		all = append(all, string(record))
		return nil
	})
	if err != nil || c.Last != uint64(len(all)) || c.Committed > c.Last {
		t.Fatalf("%s: %+v, %v", dir, c, err)
	}
	return all
}

// check compares the logs with each other and with what was acknowledged. No
// payload may be there twice: all are different.
func (l *ledger) check(t *testing.T, dirs ...string) {
	t.Helper()
	// What one has more than another was in doubt when the nodes ended.
	first := recovered(t, dirs[0])
	shortest := len(first)
	for _, dir := range dirs[1:] {
		other := recovered(t, dir)
		for i := range min(len(first), len(other)) {
			if first[i] != other[i] {
				t.Fatalf("record %d is %q in %s and %q in %s", i+1, first[i], dirs[0], other[i], dir)
			}
		}
		shortest = min(shortest, len(other))
		if len(other) > len(first) {
			first = other
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for at, want := range l.acked {
		if at < 1 || at > uint64(shortest) {
			t.Fatalf("acknowledged record %d %q is lost: there are %d in a log", at, want, shortest)
		}
		if got := first[at-1]; got != want {
			t.Fatalf("acknowledged record %d is %q, was %q", at, got, want)
		}
	}
	seen := make(map[string]int, len(first))
	for i, p := range first {
		if before, twice := seen[p]; twice {
			t.Fatalf("%q is record %d and record %d", p, before, i+1)
		}
		seen[p] = i + 1
	}
	t.Logf("%d acknowledged, %d in each log", l.count, len(first))
}

// closeAll ends the nodes that run.
func (c *cluster) closeAll() {
	var ending sync.WaitGroup
	for i := range c.stores {
		if c.stores[i] != nil {
			ending.Go(func() { c.stop(i) })
		}
	}
	ending.Wait()
}

func (c *cluster) check(l *ledger) {
	c.t.Helper()
	c.settle()
	c.closeAll()
	l.check(c.t, c.nodeDir(0), c.nodeDir(1), c.nodeDir(2))
}
