package wal

import (
	"cmp"
	"crypto/rand"
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

func (o *Options) check() error {
	o.SegmentBytes, o.MaxRecord = cmp.Or(o.SegmentBytes, 64<<20), cmp.Or(o.MaxRecord, 64<<20)
	o.FS = cmp.Or(o.FS, OS)
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

func head(f File, first uint64) (seed uint32, err error) {
	var header [segmentHeader]byte
	var s salt
	rand.Read(s[:]) // which does not fail
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

// writeBytes is how much is gathered, at least, before it is written.
const writeBytes = 1 << 20

type batch struct {
	bytes  []byte
	places []place // of the records
}

func (b *batch) reset() {
	if b.bytes, b.places = b.bytes[:0], b.places[:0]; cap(b.bytes) > 2*writeBytes {
		b.bytes = nil // a long record is rare
	}
}

// AppendBatch appends records, borrowed until it returns, and returns the number
// of the first; the others follow without a gap. They are with the operating
// system then, and durable after the next Sync. They are written together, in
// pieces of some MiB.
//
// A record of more than Options.MaxRecord bytes is ErrTooLong, and nothing is
// appended. When writing fails the log has failed; some of the records may still be in it
// when it is opened again. No record at all is a caller's bug, and panics.
func (l *Log) AppendBatch(records [][]byte) (first uint64, err error) {
	if len(records) == 0 {
		panic("wal: AppendBatch of no records")
	}
	for _, r := range records {
		if len(r) > l.options.MaxRecord {
			return 0, fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLong, len(r), l.options.MaxRecord)
		}
	}
	l.appending.Lock()
	defer l.appending.Unlock()
	l.state.Lock()
	err, last, durable := l.failed, l.last, l.durable
	size := l.segments[len(l.segments)-1].size
	l.state.Unlock()
	if err != nil {
		return 0, err
	}
	first = last + 1
	b := &l.batch
	defer b.reset()
	for _, r := range records {
		// Only who is appending changes what is read here without a lock.
		at := size + int64(len(b.bytes))
		if at > segmentHeader && at+int64(recordHeader+len(r)) > l.options.SegmentBytes {
			if err := l.write(last); err != nil {
				return 0, err
			}
			if err := l.roll(); err != nil {
				return 0, err
			}
			size, durable = segmentHeader, last
			at = size
		} else if written := int64(len(b.bytes)); written >= writeBytes {
			if err := l.write(last); err != nil {
				return 0, err
			}
			size += written
		}
		last++
		b.places = append(b.places, place{last, at})
		b.bytes = appendRecord(b.bytes, l.seed, last, durable, r)
	}
	return first, l.write(last)
}

// write writes the batch, whose last record is numbered, and empties it.
func (l *Log) write(last uint64) error {
	b := &l.batch
	if len(b.bytes) == 0 {
		return nil
	}
	s := &l.segments[len(l.segments)-1]
	if _, err := l.file.WriteAt(b.bytes, s.size); err != nil {
		return l.fail(err)
	}
	l.state.Lock()
	s.size += int64(len(b.bytes))
	for _, p := range b.places {
		s.note(p.index, p.off)
	}
	l.last = last
	l.state.Unlock()
	b.reset()
	return nil
}
