package wal

import (
	"fmt"
	"path/filepath"
)

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

// recover brings the files into order and takes the last of them to write.
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
	for off := from; off < s.size; {
		part, err := c.bytes(off, min(window, s.size-off))
		if err != nil {
			return err
		}
		if _, err := f.WriteAt(part, off); err != nil {
			return err
		}
		off += int64(len(part))
	}
	return nil
}
