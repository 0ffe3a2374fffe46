package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/gofrs/flock"
)

// An FS is what a Log needs of a file system. Names are paths. Options without
// one use the system's; tests put one under a log that fails or forgets.
type FS interface {
	// MkdirAll makes a directory, and those above it, durable where it can be made so.
	MkdirAll(dir string) error
	// ReadDir returns the names of what is in a directory, in any order.
	ReadDir(dir string) ([]string, error)
	// Create makes a file that is not there yet, for reading and writing.
	Create(name string) (File, error)
	// Open opens a file for reading and, with write, for writing.
	Open(name string, write bool) (File, error)
	Remove(name string) error
	// SyncDir makes the names in a directory durable.
	SyncDir(dir string) error
	// Lock takes a directory for the caller alone until what it returns is closed. It
	// does not wait: a directory that another owner has locked is ErrLocked.
	Lock(dir string) (io.Closer, error)
}

// A File is an open file of an FS. WriteAt has one caller at a time, which Sync and
// ReadAt may run beside.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync makes everything durable that was written before the call.
	Sync() error
	Truncate(size int64) error
	Size() (int64, error)
}

// OS is the system's file system.
var OS FS = osFS{}

type osFS struct{}

func (osFS) MkdirAll(dir string) error {
	switch info, err := os.Stat(dir); {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return &fs.PathError{Op: "mkdir", Path: dir, Err: errors.New("it is a file, not a directory")}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := (osFS{}).MkdirAll(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return osFS{}.SyncDir(parent)
}

func (osFS) ReadDir(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

func (osFS) Create(name string) (File, error) {
	return asFile(os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644))
}

func (osFS) Open(name string, write bool) (File, error) {
	mode := os.O_RDONLY
	if write {
		mode = os.O_RDWR
	}
	return asFile(os.OpenFile(name, mode, 0))
}

func (osFS) Remove(name string) error { return os.Remove(name) }

func (osFS) SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // directories cannot be synced there
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	return errors.Join(err, d.Close())
}

// lockName is the file that stands for the right to write into a directory. It stays
// there, and says which process had it last.
const lockName = "LOCK"

// Lock takes a lock that ends with the process, however that ends.
func (osFS) Lock(dir string) (io.Closer, error) {
	name := filepath.Join(dir, lockName)
	l := flock.New(name, flock.SetPermissions(0o644))
	switch ok, err := l.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("wal: locking %s: %w", dir, err)
	case !ok:
		pid, _ := os.ReadFile(name) // for people only: what counts is the lock
		return nil, fmt.Errorf("%w: %s, by process %s", ErrLocked, dir, bytes.TrimSpace(pid))
	}
	os.WriteFile(name, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644)
	return l, nil
}

type osFile struct{ *os.File }

func asFile(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
