package wal

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
)

// Recovery is the result of reading a log.
type Recovery struct {
	Last     uint64 `json:"last"` // number of the last record, 0 when there is none
	Segments int    `json:"segments"`
	Bytes    int64  `json:"bytes"`             // of those files, without what was cut off
	Cut      int64  `json:"torn,omitempty"`    // bytes that were cut off behind the last whole record
	Segment  string `json:"segment,omitempty"` // the file that they were cut from
	Reason   string `json:"reason,omitempty"`  // why, in words; empty when all was in order
}

// errMisnamed is a whole header that belongs to another file.
var errMisnamed = errors.New("the file has another's name")

type tail struct {
	torn    bool   // it has no header, and no record
	durable uint64 // number of the last record that is known to be durable
	seed    uint32
}

func segments(fsys FS, dir string) ([]uint64, error) {
	names, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var firsts []uint64
	for _, name := range names {
		if first, ok := parseName(name); ok {
			firsts = append(firsts, first)
		}
	}
	slices.Sort(firsts)
	return firsts, nil
}

// scan reads all segments of a log, checks them and passes the records to fn. It
// changes nothing.
func scan(fsys FS, dir string, fn func(index uint64, record []byte) error) ([]segment, tail, Recovery, error) {
	var t tail
	firsts, err := segments(fsys, dir)
	if err != nil {
		return nil, t, Recovery{}, err
	}
	r := Recovery{Segments: len(firsts)}
	list := make([]segment, 0, len(firsts))
	for i, first := range firsts {
		name := filepath.Join(dir, segmentName(first))
		if first != r.Last+1 {
			return nil, t, r, &CorruptError{name, 0, r.Last + 1, fmt.Sprintf("the file before it ends with record %d", r.Last)}
		}
		s := segment{first: first}
		if err := scanSegment(fsys, name, i == len(firsts)-1, &s, &t, &r, fn); err != nil {
			return nil, t, r, err
		}
		list = append(list, s)
		r.Bytes += s.size
	}
	return list, t, r, nil
}

// scanSegment is scan of one file, whose length up to the last whole record it
// notes.
func scanSegment(fsys FS, name string, last bool, s *segment, t *tail, r *Recovery, fn func(uint64, []byte) error) error {
	first := s.first
	f, err := fsys.Open(name, false)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	c, err := newCursor(f, name, size, first)
	switch {
	case err == nil:
	case errors.Is(err, errMisnamed), errors.Is(err, errVersion):
		return &CorruptError{name, 0, first, err.Error()}
	case errors.As(err, new(*damage)) && last && size <= segmentHeader:
		// Records come when the header is durable: there has been none.
		t.torn = true
		r.Cut, r.Segment, r.Reason = size, name, err.Error()+": the file was being begun"
		return nil
	case errors.As(err, new(*damage)):
		return &CorruptError{name, 0, first, err.Error()}
	default:
		return err
	}
	*t = tail{durable: first - 1, seed: c.seed}
	for {
		at := c.off
		index, payload, err := c.next()
		if err == nil {
			r.Last = index
			s.note(index, at)
			if fn != nil {
				if err := fn(index, payload); err != nil {
					return err
				}
			}
			continue
		}
		var d *damage
		switch {
		case err == io.EOF:
		case !errors.As(err, &d):
			return err
		case !last:
			return &CorruptError{name, at, c.index, d.reason + ", and another file follows"}
		default:
			later, err := c.proof()
			if errors.As(err, new(*damage)) {
				return &CorruptError{name, at, c.index, d.reason + ", and " + err.Error()}
			}
			if err != nil {
				return err
			}
			if later > 0 {
				return &CorruptError{name, at, c.index, fmt.Sprintf("%s, and record %d behind it says that it was durable", d.reason, later)}
			}
			r.Cut, r.Segment, r.Reason = size-at, name, d.reason
		}
		t.durable = max(t.durable, c.durable)
		s.size = at
		return nil
	}
}

// Scan reads the log in a directory, without changing or locking anything, and
// passes its records to fn, borrowed until it returns; nil is for the check alone. What
// Open would cut off is in the Recovery. An error of fn ends it and is returned.
func Scan(dir string, fn func(index uint64, record []byte) error) (Recovery, error) {
	_, _, r, err := scan(OS, dir, fn)
	return r, err
}

// Open opens the log in a directory, which is made if it is not there, and
// locks the directory until Close: ErrLocked if it is locked already.
//
// It reads and checks everything. What a crash has torn at the end of the last
// file is cut off, and the Recovery says so. A *CorruptError is damage to what was
// durable, and leaves the files as they are. When Open returns nil, all
// that the Recovery counts is durable, also what was not when it was left.
//
// What is cut was never synced, with one exception: damage to the last records before
// a crash looks like a torn write when nothing that was written after their sync
// proves that they were synced.
func Open(dir string, o Options) (*Log, Recovery, error) {
	if err := o.check(); err != nil {
		return nil, Recovery{}, err
	}
	if err := o.FS.MkdirAll(dir); err != nil {
		return nil, Recovery{}, err
	}
	lock, err := o.FS.Lock(dir)
	if err != nil {
		return nil, Recovery{}, err
	}
	l := &Log{dir: dir, options: o, fs: o.FS, lock: lock}
	r, err := l.recover()
	if err != nil {
		if l.file != nil {
			l.file.Close()
		}
		lock.Close()
		return nil, r, err
	}
	return l, r, nil
}

func (l *Log) recover() (Recovery, error) {
	list, t, r, err := scan(l.fs, l.dir, nil)
	if err != nil {
		return r, err
	}
	l.last, l.durable, l.segments = r.Last, r.Last, list
	if len(list) == 0 {
		if l.file, l.seed, err = begin(l.fs, l.dir, 1); err != nil {
			return r, err
		}
		l.segments = []segment{{first: 1, size: segmentHeader}}
		r.Segments, r.Bytes = 1, segmentHeader
		return r, nil
	}
	end := &list[len(list)-1]
	name := filepath.Join(l.dir, segmentName(end.first))
	if l.file, err = l.fs.Open(name, true); err != nil {
		return r, err
	}
	l.seed = t.seed
	if t.torn {
		if err = l.file.Truncate(0); err == nil {
			l.seed, err = head(l.file, end.first)
		}
		end.size = segmentHeader
		r.Bytes += segmentHeader
	} else {
		// Also where nothing is cut: the file may be longer on the disk, when a sync of
		// TruncateBack has failed.
		if err = l.file.Truncate(end.size); err == nil {
			err = rewrite(l.file, name, *end, t.durable)
		}
		if err == nil {
			err = l.file.Sync()
		}
	}
	if err == nil {
		// The name may never have become durable.
		err = l.fs.SyncDir(l.dir)
	}
	if err != nil {
		return r, fmt.Errorf("wal: putting %s in order: %w", name, err)
	}
	return r, nil
}

// rewrite writes the records behind the last one that is known to be durable once
// more, as they are. After an fsync that failed the kernel may hold them for
// written although they are not, and would never write them.
func rewrite(f File, name string, s segment, durable uint64) error {
	c, err := newCursor(f, name, s.size, s.first)
	if err != nil {
		return err
	}
	for c.index <= durable && c.off < c.size {
		if _, _, err := c.next(); err != nil {
			return err
		}
	}
	from := c.off
	if durable < s.first {
		from = 0 // the header may be no better
	}
	_, err = io.Copy(io.NewOffsetWriter(f, from), io.NewSectionReader(f, from, s.size-from))
	return err
}
