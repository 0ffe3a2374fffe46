package wal

import (
	"path/filepath"
)

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
