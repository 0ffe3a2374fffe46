package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// lookAgain is how often it is looked whether a file still has its name.
	lookAgain = time.Second
	lost      = "it was deleted or moved away"
)

// A file is one that is being written, in whichever format.
type file struct {
	recorder *Recorder
	name     string
	f        File
	size     int64     // bytes in it, all of whole tags or fragments
	synced   time.Time // to the disk, the latest time
	looked   time.Time // by lost
	err      error     // of the first write that failed
}

// write is one Write. Without an error it has written all of p.
func (o *file) write(p []byte) (n int, err error) {
	n, err = o.f.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return max(n, 0), err
}

// grow counts n bytes that were written and stay.
func (o *file) grow(n int) {
	o.size += int64(n)
	o.recorder.bytes.Add(int64(n))
}

// sync brings the file to the disk when the interval is over.
func (o *file) sync() error {
	every := o.recorder.options.Sync
	if every <= 0 {
		return nil
	}
	now := o.recorder.now()
	if now.Sub(o.synced) < every {
		return nil
	}
	o.synced = now
	if err := o.f.Sync(); err != nil {
		return o.fail(err)
	}
	return nil
}

// fail ends the writing.
func (o *file) fail(err error) error {
	o.err = fmt.Errorf("%s: %w", o.name, err)
	return o.err
}

// lost reports whether the file has lost its name: what is written into one that was deleted, or
// whose directory was, is in no list, and is gone when it ends. It looks again after a while only.
func (o *file) lost() bool {
	if o.f == nil {
		return false
	}
	r := o.recorder
	now := r.now()
	if since := now.Sub(o.looked); since >= 0 && since < lookAgain {
		return false
	}
	o.looked = now
	open, ok := o.f.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return false // a test's
	}
	is, err := open.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(filepath.Join(r.options.Dir, filepath.FromSlash(o.name)))
	gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && !os.SameFile(is, named)
	if gone {
		r.log.Warn("a recording was deleted or moved away while it was written: another file begins", "file", o.name)
	}
	return gone
}
