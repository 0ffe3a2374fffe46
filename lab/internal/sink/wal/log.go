package wal

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
)

// Options are the settings of a log. The zero value of a field is its default.
type Options struct {
	// SegmentBytes is how long a file becomes before the next is begun; one that
	// holds a single record may be longer. Default 64 MiB.
	SegmentBytes int64
	// MaxRecord is the longest record in bytes that is taken. Default 64 MiB, at
	// most 1 GiB. What the log has already may be longer.
	MaxRecord int
	// FS is where the files are; nil is the system's.
	FS FS
}

// check fills in the defaults.
func (o *Options) check() error {
	o.SegmentBytes, o.MaxRecord = cmp.Or(o.SegmentBytes, 64<<20), cmp.Or(o.MaxRecord, 64<<20)
	if o.FS == nil {
		o.FS = OS
	}
	switch {
	case o.SegmentBytes < 1:
		return fmt.Errorf("wal: a segment of %d bytes", o.SegmentBytes)
	case o.MaxRecord < 1 || o.MaxRecord > mostRecord:
		return fmt.Errorf("wal: records of %d bytes are not within 1 and %d", o.MaxRecord, mostRecord)
	}
	return nil
}

// A Log is a log that is open.
type Log struct {
	dir     string
	options Options
	fs      FS
	lock    io.Closer

	// Locks are taken in this order. What a disk is waited for with is never
	// state, so that asking for a number does not wait for one.
	appending sync.Mutex // one writes at a time
	syncing   sync.Mutex // one syncs at a time, and a file that is synced is not closed
	state     sync.Mutex // the rest

	batch    batch     // of who is appending
	file     File      // the last segment, which is written
	segments []segment // ascending, at least one
	seed     uint32    // of the last segment
	last     uint64    // number of the last record
	durable  uint64    // number of the last record that is known to be durable
	failed   error     // why nothing is taken any more
}

// LastIndex returns the number of the record that was appended last, 0 when there is none.
func (l *Log) LastIndex() uint64 {
	l.state.Lock()
	defer l.state.Unlock()
	return l.last
}

// DurableIndex returns the number of the last record that is known to be durable.
func (l *Log) DurableIndex() uint64 {
	l.state.Lock()
	defer l.state.Unlock()
	return l.durable
}

// Err returns why the log takes nothing any more, as an ErrFailed or ErrClosed, or nil.
func (l *Log) Err() error {
	l.state.Lock()
	defer l.state.Unlock()
	return l.failed
}

// fail makes err the reason why nothing is taken any more, unless there is one, and
// returns the reason.
func (l *Log) fail(err error) error {
	l.state.Lock()
	defer l.state.Unlock()
	if l.failed == nil {
		l.failed = fmt.Errorf("%w: %w", ErrFailed, err)
	}
	return l.failed
}

// Sync makes everything durable that was appended before the call. It may run
// beside AppendBatch.
//
// When it fails the log has failed permanently: the kernel reports a write-back error
// once and may then mark the pages as clean, so that a second fsync would succeed over
// a hole. Opening the log again rewrites what is not known to be durable.
func (l *Log) Sync() error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.state.Lock()
	file, last, durable, err := l.file, l.last, l.durable, l.failed
	l.state.Unlock()
	if err != nil || durable == last {
		return err
	}
	if err := file.Sync(); err != nil {
		return l.fail(err)
	}
	l.state.Lock()
	defer l.state.Unlock()
	l.durable = max(l.durable, last)
	return nil
}

// roll ends the last segment and begins another. The caller is appending.
func (l *Log) roll() error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	// What stands in a file that another follows is durable: recovery relies on
	// that.
	if err := l.file.Sync(); err != nil {
		return l.fail(err)
	}
	file, seed, err := begin(l.fs, l.dir, l.last+1)
	if err != nil {
		return l.fail(err)
	}
	old := l.file
	l.state.Lock()
	l.durable = l.last
	l.file, l.seed = file, seed
	l.segments = append(l.segments, segment{first: l.last + 1, size: segmentHeader})
	l.state.Unlock()
	old.Close() // it was synced: nothing is left that could fail
	return nil
}

// begin makes a segment, with its header and its name durable.
func begin(fsys FS, dir string, first uint64) (File, uint32, error) {
	name := filepath.Join(dir, segmentName(first))
	f, err := fsys.Create(name)
	if err != nil {
		return nil, 0, err
	}
	seed, err := head(f, first)
	if err == nil {
		err = fsys.SyncDir(dir)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, seed, nil
}

// head writes the header of a segment and makes it durable.
func head(f File, first uint64) (seed uint32, err error) {
	var header [segmentHeader]byte
	s := newSalt()
	putSegmentHeader(header[:], s, first)
	if _, err := f.WriteAt(header[:], 0); err != nil {
		return 0, err
	}
	return s.seed(), f.Sync()
}

// Close syncs and closes the log. It ends with an empty file, if it has records: what
// stands before a file is known to be durable, so that a log which lacks its end is not
// taken for one that a crash tore. Later calls return ErrClosed. When the log had
// failed, that is what it returns.
func (l *Log) Close() error {
	l.appending.Lock()
	defer l.appending.Unlock()
	err := l.Sync()
	if errors.Is(err, ErrClosed) {
		return err
	}
	if err == nil && l.segments[len(l.segments)-1].size > segmentHeader {
		err = l.roll()
	}
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.state.Lock()
	l.failed = ErrClosed
	l.state.Unlock()
	return errors.Join(err, l.file.Close(), l.lock.Close())
}
