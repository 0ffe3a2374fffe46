package wal

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sort"
)

// A Reader gets records of a log by their numbers, and is quick when they follow each
// other. It belongs to one goroutine at a time, and is closed before TruncateBack.
type Reader struct {
	log     *Log
	file    File // nil when none is open
	segment uint64
	c       *cursor
}

// NewReader returns a Reader.
func (l *Log) NewReader() *Reader { return &Reader{log: l} }

// Get returns a record, borrowed until the next call. It checks it: damage is a
// *CorruptError. A record that is not there is ErrNoRecord.
func (r *Reader) Get(index uint64) ([]byte, error) {
	if r.file == nil || index != r.c.index || r.c.off >= r.c.size {
		if err := r.seek(index); err != nil {
			return nil, err
		}
	}
	for {
		at := r.c.off
		got, record, err := r.c.next()
		if err == io.EOF {
			err = &damage{"the file ends here"}
		}
		err = corrupt(err, r.c.name, at, r.c.index)
		if err != nil {
			r.Close()
			return nil, err
		}
		if got == index {
			return record, nil
		}
	}
}

func (r *Reader) seek(index uint64) error {
	l := r.log
	l.state.Lock()
	n, last, failed := l.find(index), l.last, l.failed
	s := l.segments[n]
	l.state.Unlock()
	if errors.Is(failed, ErrClosed) {
		return failed
	}
	if index < 1 || index > last {
		return fmt.Errorf("%w: %d, the last is %d", ErrNoRecord, index, last)
	}
	if r.file == nil || r.segment != s.first {
		r.Close()
		name := filepath.Join(l.dir, segmentName(s.first))
		f, err := l.fs.Open(name, false)
		if err != nil {
			return err
		}
		r.file, r.segment = f, s.first
		r.c, err = newCursor(f, name, s.size, s.first)
		if err = corrupt(err, name, 0, s.first); err != nil {
			r.Close()
			return err
		}
	}
	r.c.size = s.size
	if p := s.near(index); index < r.c.index || p.index > r.c.index {
		r.c.index, r.c.off = p.index, p.off
	}
	return nil
}

// Close lets go of the file. The Reader may be used again.
func (r *Reader) Close() {
	if r.file != nil {
		r.file.Close()
		r.file = nil
	}
}

// find returns which segment a record is in, or would be. The caller has l.state.
func (l *Log) find(index uint64) int {
	n := len(l.segments) - 1
	for n > 0 && l.segments[n].first > index {
		n--
	}
	return n
}

type segment struct {
	first  uint64  // number of its first record
	size   int64   // bytes
	places []place // of a record in each window of bytes, ascending
}

type place struct {
	index uint64
	off   int64
}

// note remembers where a record is, when it is far enough behind the one before: 16
// bytes of memory for each window of the file.
func (s *segment) note(index uint64, off int64) {
	if n := len(s.places); off >= window && (n == 0 || off-s.places[n-1].off >= window) {
		s.places = append(s.places, place{index, off})
	}
}

func (s *segment) near(index uint64) place {
	n := sort.Search(len(s.places), func(i int) bool { return s.places[i].index > index })
	if n == 0 {
		return place{s.first, segmentHeader}
	}
	return s.places[n-1]
}

// TruncateBack removes the records behind a number, durably. It is for a log whose
// last records were never acknowledged.
func (l *Log) TruncateBack(last uint64) error {
	l.appending.Lock()
	defer l.appending.Unlock()
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.state.Lock()
	err, have, list := l.failed, l.last, l.segments
	l.state.Unlock()
	if err != nil || last >= have {
		return err
	}
	keep := l.find(last)
	// The newest first, and one by one: a crash must not leave a gap.
	for n := len(list) - 1; n > keep; n-- {
		err := l.fs.Remove(filepath.Join(l.dir, segmentName(list[n].first)))
		if err == nil {
			err = l.fs.SyncDir(l.dir)
		}
		if err != nil {
			return l.fail(err)
		}
	}
	s := list[keep]
	l.file.Close() // all of it that stays has been synced, or will be
	file, seed, err := l.cut(&s, last)
	if err != nil {
		return l.fail(err)
	}
	l.state.Lock()
	defer l.state.Unlock()
	l.file, l.seed = file, seed
	l.segments = append(list[:keep:keep], s)
	l.last, l.durable = last, min(l.durable, last)
	return nil
}

func (l *Log) cut(s *segment, last uint64) (File, uint32, error) {
	name := filepath.Join(l.dir, segmentName(s.first))
	f, err := l.fs.Open(name, true)
	if err != nil {
		return nil, 0, err
	}
	c, err := newCursor(f, name, s.size, s.first)
	if err == nil {
		p := s.near(last)
		c.index, c.off = p.index, p.off
		for err == nil && c.index <= last {
			_, _, err = c.next()
		}
	}
	if err == nil {
		err = f.Truncate(c.off)
	}
	if err == nil {
		// Before anything is written there: what was behind it must not come back.
		err = f.Sync()
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	s.size = c.off
	for n := len(s.places); n > 0 && s.places[n-1].off >= s.size; n-- {
		s.places = s.places[: n-1 : n-1]
	}
	return f, c.seed, nil
}
