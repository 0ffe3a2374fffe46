package consensus

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/sluice-go/sluice/internal/testdisk"
	"github.com/sluice-go/sluice/lab/internal/sink"
	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

// A smallDisk is the system's files with room for so many bytes more.
type smallDisk struct {
	room  atomic.Int64
	full  atomic.Bool
	hangs sync.RWMutex // writes wait while a test has it
}

func (d *smallDisk) MkdirAll(dir string) error { return os.MkdirAll(dir, 0o777) }

func (d *smallDisk) ReadDir(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (d *smallDisk) Create(name string) (wal.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	return &smallFile{f, d}, err
}

func (d *smallDisk) Open(name string, write bool) (wal.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	return &smallFile{f, d}, err
}

func (d *smallDisk) Remove(name string) error { return os.Remove(name) }
func (d *smallDisk) SyncDir(string) error     { return nil }
func (d *smallDisk) Lock(string) (io.Closer, error) {
	return io.NopCloser(nil), nil
}

type smallFile struct {
	*os.File
	disk *smallDisk
}

// WriteAt writes what there is room for.
func (f *smallFile) WriteAt(p []byte, off int64) (int, error) {
	f.disk.hangs.RLock()
	defer f.disk.hangs.RUnlock()
	left := f.disk.room.Add(-int64(len(p)))
	if left >= 0 {
		return f.File.WriteAt(p, off)
	}
	f.disk.full.Store(true)
	n, err := f.File.WriteAt(p[:max(0, len(p)+int(left))], off)
	return n, errors.Join(err, syscall.ENOSPC)
}

func (f *smallFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// fullDisk runs three nodes, fills the disk of the leader or of a follower, and
// goes on with the others, and then with all.
func fullDisk(t *testing.T, leader bool) {
	disks := map[string]*smallDisk{"a": {}, "b": {}, "c": {}}
	for _, d := range disks {
		d.room.Store(1 << 40)
	}
	c := newCluster(t, func(o *Options) {
		o.fs = func(node string) wal.FS { return disks[node] }
	})
	c.start(0, 1, 2)
	l := newLedger()
	c.mustPut(l, "before")
	full := c.leader()
	if !leader {
		full = (full + 1) % 3
	}
	disk := disks[c.peers[full].ID]
	disk.room.Store(777)
	all := slices.Clone(c.stores)
	stop := c.load(l, strings.Repeat("much ", 20), func() []*Store { return all })
	defer stop()
	eventually(t, func() string {
		if n := all[full].Stats().Nodes[0]; !disk.full.Load() || n.State != "out" {
			return fmt.Sprintf("the node is not out: %+v", n)
		}
		return ""
	})
	if next := c.leader(); next == full {
		t.Error("the node with the full disk leads")
	}
	c.await(l, 50)
	_, err := put(all[full], "refused")
	if !errors.Is(err, ErrFailed) || !errors.Is(err, sink.ErrFailed) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the full node answers %v", err)
	}
	<-all[full].Failed()
	stop()
	if err := all[full].Close(); !errors.Is(err, ErrFailed) {
		t.Errorf("closing the full node: %v", err)
	}
	c.stop(full)
	disk.room.Store(1 << 40)
	c.start(full)
	c.mustPut(l, "after")
	c.check(l)
}

func TestFullDiskOfTheLeader(t *testing.T) {
	t.Parallel()
	fullDisk(t, true)
}

func TestFullDiskOfAFollower(t *testing.T) {
	t.Parallel()
	fullDisk(t, false)
}

// A trio goes on with two, and with one it says that it is out.
func TestTrioGoesOnWithTwo(t *testing.T) {
	t.Parallel()
	disks := map[string]*smallDisk{"1": {}, "2": {}, "3": {}}
	for _, d := range disks {
		d.room.Store(1 << 40)
	}
	dir := testdisk.Dir(t)
	s, err := Open(Options{
		Dir: dir, Trio: true, heartbeat: soon, Log: testLog(t),
		fs: func(node string) wal.FS { return disks[node] },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := newLedger()
	c := &cluster{t: t, stores: []*Store{s}}
	c.mustPut(l, "before")
	first := known(t, s)
	disks[first].room.Store(0)
	for n := range 20 {
		c.mustPut(l, fmt.Sprintf("with two %d,", n))
	}
	second := known(t, s)
	if second == first {
		t.Errorf("%s leads with a full disk", first)
	}
	disks[second].room.Store(0)
	tries := 0
	eventually(t, func() string {
		tries++ // what was in doubt must not be in the log twice
		if _, err := put(s, fmt.Sprint("with one ", tries)); !errors.Is(err, sink.ErrFailed) {
			return fmt.Sprint("an append with one node left: ", err)
		}
		return ""
	})
	<-s.Failed()
	if err := s.Err(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the reason is %v", err)
	}
	if err := s.Close(); !errors.Is(err, ErrFailed) {
		t.Errorf("closing says %v", err)
	}
	for _, d := range disks {
		d.room.Store(1 << 40)
	}
	s, err = Open(Options{Dir: dir, Trio: true, heartbeat: soon, Log: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c.stores[0] = s
	c.mustPut(l, "after")
	settle(t, func() []NodeStats { return s.Stats().Nodes })
	s.Close()
	l.check(t, filepath.Join(dir, "1"), filepath.Join(dir, "2"), filepath.Join(dir, "3"))
}

// What raft must have on disk and has not puts the node out, without the panic
// that raft has for its term.
func TestRaftsDiskFails(t *testing.T) {
	t.Parallel()
	dir, disk := testdisk.Dir(t), new(smallDisk)
	disk.room.Store(1 << 20)
	log, _, err := wal.Open(dir, wal.Options{FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var failures []error
	fail := func(err error) { failures = append(failures, err) }
	e, err := openEntries(log, fail)
	if err != nil {
		t.Fatal(err)
	}
	v, err := openVotes(disk, filepath.Join(dir, raftDir), true, fail)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(3) {
		if err := e.StoreLog(&raft.Log{Index: i + 1, Data: []byte("configuration"), Type: raft.LogConfiguration}); err != nil {
			t.Fatal(err)
		}
	}
	name := segments(t, dir)[0]
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1
	if err := os.WriteFile(name, b, 0); err != nil {
		t.Fatal(err)
	}
	disk.room.Store(0)
	calls := map[string]func() error{
		"StoreLog":    func() error { return e.StoreLog(&raft.Log{Index: 4}) },
		"a gap":       func() error { return e.StoreLog(&raft.Log{Index: 9}) },
		"DeleteRange": func() error { return e.DeleteRange(1, 2) },
		"Set":         func() error { return v.Set([]byte("LastVoteCand"), nil) },
		"GetLog":      func() error { return e.GetLog(3, new(raft.Log)) },
		"SetUint64":   func() error { return v.SetUint64([]byte(keyTerm), 7) },
	}
	for name, call := range calls {
		failures = nil
		if err := call(); err == nil || len(failures) != 1 {
			t.Errorf("%s: %v, put out by %v", name, err, failures)
		}
	}
	if err := calls["GetLog"](); !errors.Is(err, wal.ErrCorrupt) || !strings.Contains(err.Error(), name) {
		t.Errorf("a damaged entry: %v", err)
	}
	if err := calls["Set"](); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), v.name) {
		t.Errorf("votes on a full disk: %v", err)
	}
	e.running.Store(true)
	v.running.Store(true)
	for _, name := range []string{"SetUint64", "GetLog"} {
		returned := false
		var running sync.WaitGroup
		running.Go(func() {
			calls[name]()
			returned = true
		})
		running.Wait()
		if returned {
			t.Errorf("raft would go on after a failed %s", name)
		}
	}
}

// The same with raft around it: a node whose log takes nothing falls out, and the
// process stays.
func TestRaftsDiskFailsUnderLoad(t *testing.T) {
	t.Parallel()
	c := newCluster(t, nil)
	c.start(0, 1, 2)
	l := newLedger()
	c.mustPut(l, "before")
	broken := c.leader()
	all := slices.Clone(c.stores)
	stop := c.load(l, "load", func() []*Store { return all })
	defer stop()
	c.await(l, 20)
	if err := all[broken].nodes[0].log.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string {
		if all[broken].Stats().Nodes[0].State != "out" {
			return "it is not out"
		}
		return ""
	})
	if next := c.leader(); next == broken {
		t.Error("the broken node leads")
	}
	c.await(l, 20)
	stop()
	c.stop(broken)
	c.start(broken)
	c.check(l)
}
