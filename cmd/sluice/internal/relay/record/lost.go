package record

import (
	"errors"
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

// A lookout looks whether a file that is being written still has its name: what is written into
// one that was deleted, or whose directory was, is in no list, and is gone when it ends.
type lookout struct{ looked time.Time }

// lost reports that it has not. It looks again after a while only.
func (l *lookout) lost(r *Recorder, name string, f File) bool {
	now := r.now()
	if since := now.Sub(l.looked); since >= 0 && since < lookAgain {
		return false
	}
	l.looked = now
	open, ok := f.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return false // a test's
	}
	is, err := open.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(filepath.Join(r.options.Dir, filepath.FromSlash(name)))
	gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && !os.SameFile(is, named)
	if gone {
		r.log.Warn("a recording was deleted or moved away while it was written: another file begins", "file", name)
	}
	return gone
}
