package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"syscall"
)

// sector is what a disk writes whole or not at all, in bytes.
const sector = 512

var errPowerless = errors.New("the machine is off")

// A memFS is a file system that forgets in a crash what was not synced, or parts of
// it, in any order, and that fails on request.
type memFS struct {
	mu      sync.Mutex
	rand    *rand.Rand
	names   map[string]*memInode // as programs see them
	durable map[string]*memInode // as they are after a crash, without what the crash leaves of the rest
	locked  map[string]bool
	power   int // operations that change something until the machine goes off; negative: never
	room    int // bytes that can still be written; negative: no limit
	// syncFails is how many syncs of files from now on fail, behind so many that do not.
	syncAfter, syncFails int
	dirFails             int // syncs of directories that fail from now on
	syncs                int // of files, that there were
	writes               int // calls of WriteAt
	onSync               func()
}

// memInode is a file: what programs read, what is on the disk, and what happened in
// between.
type memInode struct {
	seen, disk []byte
	pending    []memChange
}

// A memChange is a write, or with data nil a truncation to off.
type memChange struct {
	off  int64
	data []byte
}

func newMemFS(seed uint64) *memFS {
	return &memFS{
		rand: rand.New(rand.NewPCG(seed, 1)), names: map[string]*memInode{}, durable: map[string]*memInode{},
		locked: map[string]bool{}, power: -1, room: -1,
	}
}

// change counts an operation that changes something. It returns errPowerless when the
// power is off.
func (m *memFS) change() error {
	if m.power == 0 {
		return errPowerless
	}
	if m.power > 0 {
		m.power--
	}
	return nil
}

func apply(content []byte, c memChange) []byte {
	if c.data == nil {
		for int64(len(content)) < c.off {
			content = append(content, 0)
		}
		return content[:c.off:c.off]
	}
	for int64(len(content)) < c.off+int64(len(c.data)) {
		content = append(content, 0)
	}
	copy(content[c.off:], c.data)
	return content
}

// settle brings to the disk what chance wants of the changes of an inode.
func (m *memFS) settle(n *memInode) {
	keep := m.rand.IntN(3) // 0: nothing, 1: all, 2: some
	for _, c := range n.pending {
		switch {
		case keep == 0:
		case keep == 1:
			n.disk = apply(n.disk, c)
		case c.data == nil:
			if m.rand.IntN(2) == 0 {
				n.disk = apply(n.disk, c)
			}
		default:
			// By sectors of the disk, any of them.
			for i := int64(0); i < int64(len(c.data)); {
				end := min((c.off+i)/sector*sector+sector-c.off, int64(len(c.data)))
				if m.rand.IntN(3) > 0 {
					n.disk = apply(n.disk, memChange{c.off + i, c.data[i:end]})
				}
				i = end
			}
			if m.rand.IntN(4) == 0 { // the length came, the bytes did not
				for int64(len(n.disk)) < c.off+int64(len(c.data)) {
					n.disk = append(n.disk, byte(m.rand.IntN(2)*m.rand.IntN(256)))
				}
			}
		}
	}
	n.pending = nil
}

// crash cuts the power and restores it.
func (m *memFS) crash() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, n := range m.names {
		if m.durable[name] != n && m.rand.IntN(2) == 0 {
			m.durable[name] = n
		}
	}
	for name := range m.durable {
		if m.names[name] == nil && m.rand.IntN(2) == 0 {
			delete(m.durable, name)
		}
	}
	m.names = map[string]*memInode{}
	for name, n := range m.durable {
		m.settle(n)
		// What an open file of before the crash still writes goes nowhere.
		back := &memInode{disk: n.disk, seen: append([]byte(nil), n.disk...)}
		m.names[name], m.durable[name] = back, back
	}
	m.locked = map[string]bool{}
	m.heal()
}

// heal ends all faults.
func (m *memFS) heal() { m.power, m.room, m.syncAfter, m.syncFails, m.dirFails = -1, -1, 0, 0, 0 }

// file returns what a program reads in a file, to be changed.
func (m *memFS) file(name string) *memInode {
	n := m.names[name]
	if n == nil {
		panic("no file " + name)
	}
	return n
}

func (m *memFS) MkdirAll(string) error { return nil }

func (m *memFS) ReadDir(dir string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []string
	for name := range m.names {
		if filepath.Dir(name) == dir {
			list = append(list, filepath.Base(name))
		}
	}
	return list, nil
}

func (m *memFS) Create(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.change(); err != nil {
		return nil, err
	}
	if m.names[name] != nil {
		return nil, fs.ErrExist
	}
	m.names[name] = &memInode{}
	return &memFile{m, m.names[name], name, true}, nil
}

func (m *memFS) Open(name string, write bool) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.names[name] == nil {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return &memFile{m, m.names[name], name, write}, nil
}

func (m *memFS) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.change(); err != nil {
		return err
	}
	delete(m.names, name)
	return nil
}

func (m *memFS) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.change(); err != nil {
		return err
	}
	if m.dirFails > 0 {
		m.dirFails--
		return syscall.EIO
	}
	for name := range m.durable {
		if filepath.Dir(name) == dir && m.names[name] == nil {
			delete(m.durable, name)
		}
	}
	for name, n := range m.names {
		if filepath.Dir(name) == dir {
			m.durable[name] = n
		}
	}
	return nil
}

type memLock struct {
	m   *memFS
	dir string
}

func (l memLock) Close() error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	delete(l.m.locked, l.dir)
	return nil
}

func (m *memFS) Lock(dir string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.locked[dir] {
		return nil, ErrLocked
	}
	m.locked[dir] = true
	return memLock{m, dir}, nil
}

type memFile struct {
	m     *memFS
	n     *memInode
	name  string
	write bool
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if off >= int64(len(f.n.seen)) {
		return 0, io.EOF
	}
	n := copy(p, f.n.seen[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if !f.write || len(p) == 0 {
		panic(fmt.Sprintf("a write of %d bytes", len(p)))
	}
	f.m.writes++
	all := bytes.Clone(p)
	if err := f.m.change(); err != nil {
		return 0, err
	}
	var err error
	if more := int(off) + len(all) - len(f.n.seen); f.m.room >= 0 && more > 0 {
		if more > f.m.room {
			all, err = all[:len(all)-(more-f.m.room)], syscall.ENOSPC
			more = f.m.room
		}
		f.m.room -= more
	}
	if len(all) > 0 {
		c := memChange{off, all}
		f.n.seen = apply(f.n.seen, c)
		f.n.pending = append(f.n.pending, c)
	}
	return len(all), err
}

func (f *memFile) Sync() error {
	f.m.mu.Lock()
	hook := f.m.onSync
	f.m.mu.Unlock()
	if hook != nil {
		hook()
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.m.syncs++
	if err := f.m.change(); err != nil {
		return err
	}
	if f.m.syncFails > 0 {
		if f.m.syncAfter--; f.m.syncAfter < 0 {
			f.m.syncFails--
			// Linux: the pages count as clean from now on, and are read as they were meant.
			f.m.settle(f.n)
			return syscall.EIO
		}
	}
	for _, c := range f.n.pending {
		f.n.disk = apply(f.n.disk, c)
	}
	f.n.pending = nil
	return nil
}

func (f *memFile) Truncate(size int64) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.m.change(); err != nil {
		return err
	}
	c := memChange{off: size}
	f.n.seen = apply(f.n.seen, c)
	f.n.pending = append(f.n.pending, c)
	return nil
}

func (f *memFile) Size() (int64, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return int64(len(f.n.seen)), nil
}

func (f *memFile) Close() error { return nil }

// scanFS is Scan of a log in a file system.
func scanFS(fsys FS, dir string, fn func(index uint64, record []byte) error) (Recovery, error) {
	_, _, r, err := scan(fsys, dir, fn)
	return r, err
}
