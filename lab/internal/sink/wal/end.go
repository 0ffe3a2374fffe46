package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"
)

// endName is the file that says how far a log was durable when it was closed, so that
// a log that lacks its end is told from one that a crash tore. It has two slots that
// are written by turns, each of a sequence number, the number of a record, and a CRC32C
// of both: a write that is torn leaves the other one.
const (
	endName  = "END"
	endSlot  = 20
	endSlots = 2
)

type endMark struct {
	fs  FS
	dir string
	seq uint64 // of the newest slot
	at  uint64 // record that it names
}

// load reads the mark. One that is not there, or not whole, names record 0.
func (e *endMark) load() error {
	f, err := e.fs.Open(filepath.Join(e.dir, endName), false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var b [endSlot * endSlots]byte
	n, _ := f.ReadAt(b[:], 0) // what cannot be read has no checksum
	for s := b[:n]; len(s) >= endSlot; s = s[endSlot:] {
		seq, at := binary.BigEndian.Uint64(s), binary.BigEndian.Uint64(s[8:])
		if crc32.Checksum(s[:16], castagnoli) == binary.BigEndian.Uint32(s[16:]) && seq > e.seq {
			e.seq, e.at = seq, at
		}
	}
	return nil
}

// raise names a record that is durable, and lower one behind which everything will be
// removed: from both slots, since the older one must not be believed then.
func (e *endMark) raise(at uint64) error {
	if at <= e.at {
		return nil
	}
	return e.write(at)
}

func (e *endMark) lower(at uint64) error {
	if at >= e.at {
		return nil
	}
	return errors.Join(e.write(at), e.write(at))
}

func (e *endMark) write(at uint64) error {
	name := filepath.Join(e.dir, endName)
	f, err := e.fs.Open(name, true)
	created := errors.Is(err, fs.ErrNotExist)
	if created {
		f, err = e.fs.Create(name)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	b := binary.BigEndian.AppendUint64(nil, e.seq+1)
	b = binary.BigEndian.AppendUint64(b, at)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	if _, err = f.WriteParts([][]byte{b}, int64(e.seq%endSlots)*endSlot); err == nil {
		err = f.Sync()
	}
	if err == nil && created {
		err = e.fs.SyncDir(e.dir)
	}
	if err == nil {
		e.seq, e.at = e.seq+1, at
	}
	return err
}

// checkEnd holds what was read of a log against its mark.
func checkEnd(fsys FS, dir string, list []segment, r *Recovery) error {
	e := endMark{fs: fsys, dir: dir}
	if err := e.load(); err != nil || r.Last >= e.at {
		return err
	}
	name, size := filepath.Join(dir, segmentName(1)), int64(0)
	if len(list) > 0 {
		s := &list[len(list)-1]
		name, size = filepath.Join(dir, segmentName(s.first)), s.size
	}
	why := r.Reason
	if why == "" {
		why = "the log ends here"
	}
	return &CorruptError{name, size, r.Last + 1, fmt.Sprintf("%s, and %s says that record %d was durable", why, endName, e.at)}
}
