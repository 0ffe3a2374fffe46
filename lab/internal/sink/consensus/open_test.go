package consensus

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/internal/testdisk"
	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

func TestOptions(t *testing.T) {
	three := []Peer{{"a", "127.0.0.1:1"}, {"b", "127.0.0.1:2"}, {"c", "127.0.0.1:3"}}
	for _, test := range []struct {
		o    Options
		want string // part of the error, empty where there is none
	}{
		{Options{Dir: "d", Trio: true}, ""},
		{Options{Dir: "d", ID: "a", Peers: three}, ""},
		{Options{Trio: true}, "no directory"},
		{Options{Dir: "d"}, "0 peers"},
		{Options{Dir: "d", ID: "a", Peers: three[:2]}, "2 peers"},
		{Options{Dir: "d", ID: "x", Peers: three}, `"x", is not among`},
		{Options{Dir: "d", Trio: true, Peers: three}, "a trio has no peers"},
		{Options{Dir: "d", Trio: true, ID: "1"}, "a trio has no peers"},
		{Options{Dir: "d", ID: "a", Peers: []Peer{three[0], three[1], {"a", "127.0.0.1:4"}}}, "two peers are called a"},
		{Options{Dir: "d", ID: "a", Peers: []Peer{three[0], three[1], {"c", "127.0.0.1:1"}}}, "two peers are at"},
		{Options{Dir: "d", ID: "a", Peers: []Peer{three[0], three[1], {"c", "nowhere"}}}, "no HOST:PORT"},
		{Options{Dir: "d", ID: "a", Peers: []Peer{three[0], three[1], {"", "127.0.0.1:4"}}}, "1 to 64 bytes"},
	} {
		err := test.o.Check()
		if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%+v: %v, want %q", test.o, err, test.want)
		}
	}
}

func TestDirectoryThatDoesNotFit(t *testing.T) {
	t.Parallel()
	t.Run("records of another mode", func(t *testing.T) {
		c := newCluster(t, nil)
		log, _, err := wal.Open(c.nodeDir(0), wal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := log.AppendBatch([][]byte{[]byte("mine")}); err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(c.options(0)); !errors.Is(err, ErrState) {
			t.Errorf("Open: %v", err)
		}
		if r, err := wal.Scan(c.nodeDir(0), nil); err != nil || r.Last != 1 {
			t.Errorf("the log has %+v now: %v", r, err)
		}
		if IsNode(c.nodeDir(0)) {
			t.Error("a directory of raft was made there")
		}
	})
	t.Run("records of another mode on top", func(t *testing.T) {
		c := newCluster(t, nil)
		c.start(0, 1, 2)
		l := newLedger()
		c.mustPut(l, "before")
		c.settle()
		c.stop(0)
		log, _, err := wal.Open(c.nodeDir(0), wal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := log.AppendBatch([][]byte{[]byte("foreign")}); err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(c.options(0)); !errors.Is(err, ErrState) {
			t.Errorf("Open: %v", err)
		}
		c.mustPut(l, "without it")
	})
	t.Run("in use", func(t *testing.T) {
		c := newCluster(t, nil)
		c.start(0)
		o := c.options(0)
		o.Bind = "127.0.0.1:0"
		if _, err := Open(o); !errors.Is(err, wal.ErrLocked) {
			t.Errorf("Open: %v", err)
		}
	})
	t.Run("another cluster", func(t *testing.T) {
		c := newCluster(t, nil)
		c.start(0)
		c.stop(0)
		o := c.options(0)
		o.Peers = append([]Peer{{"x", c.peers[2].Addr}}, c.peers[:2]...)
		if _, err := Open(o); !errors.Is(err, ErrState) || !strings.Contains(err.Error(), `"c"`) {
			t.Errorf("Open: %v", err)
		}
		c.start(0)
	})
	t.Run("lost votes", func(t *testing.T) {
		c := newCluster(t, nil)
		c.start(0, 1, 2)
		l := newLedger()
		c.mustPut(l, "one")
		c.settle()
		c.closeAll()
		name := filepath.Join(c.nodeDir(0), raftDir, votesFile)
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(c.options(0)); !errors.Is(err, ErrState) || !strings.Contains(err.Error(), name) {
			t.Errorf("Open: %v", err)
		}
	})
	t.Run("lost entries", func(t *testing.T) {
		c := newCluster(t, nil)
		c.start(0, 1, 2)
		l := newLedger()
		c.mustPut(l, "one")
		c.settle()
		c.kill(0)
		for _, name := range segments(t, c.nodeDir(0)) {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Open(c.options(0)); !errors.Is(err, ErrState) {
			t.Errorf("Open: %v", err)
		}
	})
	t.Run("a port that is taken", func(t *testing.T) {
		c := newCluster(t, nil)
		c.start(0)
		o := c.options(1)
		o.Bind = c.peers[0].Addr
		if _, err := Open(o); err == nil || !strings.Contains(err.Error(), c.peers[0].Addr) {
			t.Errorf("Open: %v", err)
		}
	})
}

// A kill between the two writes of the first start is made good at the second.
func TestBootstrapIsFinished(t *testing.T) {
	t.Parallel()
	c := newCluster(t, nil)
	for i := range 3 {
		v, err := openVotes(wal.OS, filepath.Join(c.nodeDir(i), raftDir), true, func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		if err := v.SetUint64([]byte(keyTerm), 1); err != nil {
			t.Fatal(err)
		}
	}
	c.start(0, 1, 2)
	l := newLedger()
	c.mustPut(l, "one")
	c.check(l)
}

// A node that has lost its disk gets everything again.
func TestEmptyNodeJoins(t *testing.T) {
	t.Parallel()
	c := newCluster(t, nil)
	c.start(0, 1, 2)
	l := newLedger()
	for n := range 30 {
		c.mustPut(l, fmt.Sprint(n), fmt.Sprint(n, strings.Repeat("x", 50)))
	}
	c.settle() // with its disk goes its vote for what the others may lack
	lost := (c.leader() + 1) % 3
	c.kill(lost)
	if err := os.RemoveAll(c.nodeDir(lost)); err != nil {
		t.Fatal(err)
	}
	c.start(lost)
	c.mustPut(l, "after")
	c.settle()
	defer c.check(l)
	if got := c.stores[lost].Stats().Last; got < 61 {
		t.Errorf("it has %d records", got)
	}
}

// One damaged log does not keep a trio from starting, and is left as it is.
func TestTrioStartsWithADamagedLog(t *testing.T) {
	t.Parallel()
	dir := testdisk.Dir(t)
	open := func() *Store {
		s, err := Open(Options{Dir: dir, Trio: true, heartbeat: soon, SegmentBytes: 300, Log: testLog(t)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	s := open()
	l := newLedger()
	c := &cluster{t: t, stores: []*Store{s}}
	for n := range 20 {
		c.mustPut(l, strings.Repeat(string(rune('a'+n)), 100))
	}
	settle(t, func() []NodeStats { return s.Stats().Nodes })
	s.Close()
	damaged := segments(t, filepath.Join(dir, "2"))[1]
	f, err := os.OpenFile(damaged, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("XXXX"), 100); err != nil {
		t.Fatal(err)
	}
	f.Close()
	s = open()
	c.stores[0] = s
	c.mustPut(l, "with two")
	if n := s.Stats().Nodes[1]; n.State != "out" || !strings.Contains(n.Error, damaged) {
		t.Errorf("the damaged node: %+v", n)
	}
	s.Close()
	// What helps is to move it away: the others have everything.
	if err := os.Rename(filepath.Join(dir, "2"), filepath.Join(dir, "damaged")); err != nil {
		t.Fatal(err)
	}
	s = open()
	c.stores[0] = s
	c.mustPut(l, "with three")
	settle(t, func() []NodeStats { return s.Stats().Nodes })
	s.Close()
	l.check(t, filepath.Join(dir, "1"), filepath.Join(dir, "2"), filepath.Join(dir, "3"))
}
