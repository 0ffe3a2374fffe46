package wal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
)

// Read passes the records from a number on, up to the last at the time of the
// call, to fn, which borrows them until it returns. It checks them on the way: damage
// is a *CorruptError. A number before FirstIndex is ErrTruncated, one behind the
// last record passes nothing. An error of fn ends it and is returned.
//
// It finds the place by reading its file from the front.
func (l *Log) Read(from uint64, fn func(index uint64, record []byte) error) error {
	l.state.Lock()
	list, last, err := slices.Clone(l.segments), l.last, l.failed
	l.state.Unlock()
	if errors.Is(err, ErrClosed) {
		return err
	}
	if from < list[0].first {
		return fmt.Errorf("%w: %d, the first is %d", ErrTruncated, from, list[0].first)
	}
	for i, s := range list {
		if i+1 < len(list) && list[i+1].first <= from {
			continue
		}
		if s.first > last {
			return nil
		}
		if err := l.readSegment(s, from, fn); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) readSegment(s segment, from uint64, fn func(uint64, []byte) error) error {
	name := filepath.Join(l.dir, segmentName(s.first))
	f, err := l.fs.Open(name, false)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: while they were read: %d", ErrTruncated, s.first)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	c, err := newCursor(f, name, s.size, s.first)
	if d := (*damage)(nil); errors.As(err, &d) {
		return &CorruptError{name, 0, s.first, d.reason}
	}
	if err != nil {
		return err
	}
	for {
		at := c.off
		index, payload, err := c.next()
		if d := (*damage)(nil); errors.As(err, &d) {
			return &CorruptError{name, at, c.index, d.reason}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if index >= from {
			if err := fn(index, payload); err != nil {
				return err
			}
		}
	}
}
