package wal

import (
	"path/filepath"
)

// TruncateBack removes the records behind a number, durably. It is for a log whose
// last records were never promised to anybody.
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
	if err := l.end.lower(last); err != nil {
		return l.fail(err)
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
	file, seed, err := l.cut(&s, last, l.file, keep == len(list)-1)
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

// cut ends a segment behind a record, and returns its file to be written and its seed.
// The file that was written until now is closed when it is another one.
func (l *Log) cut(s *segment, last uint64, now File, same bool) (File, uint32, error) {
	file, name := now, filepath.Join(l.dir, segmentName(s.first))
	if !same {
		var err error
		if file, err = l.fs.Open(name, true); err != nil {
			return nil, 0, err
		}
	}
	c, err := newCursor(file, name, s.size, s.first)
	if err == nil {
		p := s.near(last + 1)
		c.index, c.off = p.index, p.off
		for err == nil && c.index <= last {
			_, _, err = c.next()
		}
	}
	if err == nil {
		err = file.Truncate(c.off)
	}
	if err == nil {
		// Before anything is written there: what was behind it must not come back.
		err = file.Sync()
	}
	if err != nil {
		if !same {
			file.Close()
		}
		return nil, 0, err
	}
	if !same {
		now.Close() // it has been removed
	}
	s.size = c.off
	n := len(s.places)
	for n > 0 && s.places[n-1].off >= s.size {
		n--
	}
	s.places = s.places[:n:n]
	return file, c.seed, nil
}
