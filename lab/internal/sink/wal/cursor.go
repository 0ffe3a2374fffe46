package wal

import (
	"errors"
	"fmt"
	"io"
)

// window is how much of a segment is read at once, in bytes.
const window = 256 << 10

type cursor struct {
	file  File
	name  string // path
	size  int64  // bytes of the file that count
	off   int64  // of the next record
	index uint64 // that it has to have
	seed  uint32

	durable uint64 // the largest that a record said
	buf     []byte // bytes of the file from start on
	start   int64
}

// damage is a place where no whole record is.
type damage struct{ reason string }

func (d *damage) Error() string { return d.reason }

// corrupt makes a CorruptError of damage, and leaves other errors as they are.
func corrupt(err error, name string, at int64, index uint64) error {
	if d := (*damage)(nil); errors.As(err, &d) {
		return &CorruptError{name, at, index, d.reason}
	}
	return err
}

// newCursor begins at the first record of a segment, whose header it reads. A header
// that is not whole is a *damage.
func newCursor(f File, name string, size int64, first uint64) (*cursor, error) {
	c := &cursor{file: f, name: name, size: size, index: first}
	head, err := c.bytes(0, min(segmentHeader, size))
	if err != nil {
		return nil, err
	}
	s, named, err := parseSegmentHeader(head)
	switch {
	case errors.Is(err, errVersion):
		return nil, err
	case err != nil:
		return nil, &damage{err.Error()}
	}
	if named != first {
		return nil, fmt.Errorf("%w: the header says that record %d is the first", errMisnamed, named)
	}
	c.seed, c.off = s.seed(), segmentHeader
	return c, nil
}

// next returns the next record, borrowed until the following call: io.EOF behind the
// last one, a *damage where something else is.
func (c *cursor) next() (index uint64, payload []byte, err error) {
	left := c.size - c.off
	if left == 0 {
		return 0, nil, io.EOF
	}
	if left < recordHeader {
		return 0, nil, &damage{fmt.Sprintf("%d bytes, too few for a record", left)}
	}
	b, err := c.bytes(c.off, recordHeader)
	if err != nil {
		return 0, nil, err
	}
	h := parseRecordHeader(b)
	// Before anything is read for its length, which is only as good as the rest.
	switch {
	case h.index != c.index:
		return 0, nil, &damage{fmt.Sprintf("record %d was to be here, the bytes say %d", c.index, h.index)}
	case h.durable >= h.index:
		return 0, nil, &damage{fmt.Sprintf("a record that calls %d durable", h.durable)}
	case h.length > mostRecord:
		return 0, nil, &damage{fmt.Sprintf("a record of %d bytes, which no log takes", h.length)}
	case h.length > left-recordHeader:
		return 0, nil, &damage{fmt.Sprintf("%d of %d bytes of a record", left-recordHeader, h.length)}
	}
	b, err = c.bytes(c.off, recordHeader+h.length)
	if err != nil {
		return 0, nil, err
	}
	payload = b[recordHeader:]
	if recordSum(c.seed, b, payload) != h.sum {
		return 0, nil, &damage{"a record without its checksum"}
	}
	c.off += int64(len(b))
	c.index++
	c.durable = max(c.durable, h.durable)
	return h.index, payload, nil
}

// bytes returns n bytes from an offset, which the file has, borrowed until the next
// call.
func (c *cursor) bytes(off, n int64) ([]byte, error) {
	if off < c.start || off+n > c.start+int64(len(c.buf)) {
		want := min(max(n, window), c.size-off)
		if int64(cap(c.buf)) < want {
			c.buf = make([]byte, want)
		}
		c.buf = c.buf[:want]
		m, err := c.file.ReadAt(c.buf, off)
		c.start, c.buf = off, c.buf[:m]
		if int64(m) < n {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, fmt.Errorf("wal: reading %s at byte %d: %w", c.name, off, err)
		}
	}
	i := off - c.start
	return c.buf[i : i+n : i+n], nil
}

// proofBytes bounds what looking for a proof reads for checksums, in bytes:
// made-up headers could make it read everything many times.
const proofBytes = 1 << 30

// proof looks behind the place where c stopped for a record that was written when
// the one missing here was durable already, and returns its number, or 0. A write that
// a crash tore leaves none: what follows the tear was written before anything was
// known to be durable that it belongs to.
func (c *cursor) proof() (uint64, error) {
	budget := int64(proofBytes)
	end := c.size - recordHeader
	for off := c.off + 1; off <= end; {
		n := min(window, c.size-off)
		part, err := c.bytes(off, n)
		if err != nil {
			return 0, err
		}
		for i := int64(0); i+recordHeader <= n; i++ {
			h := parseRecordHeader(part[i:])
			if h.durable < c.index || h.durable >= h.index || h.index > c.index+uint64(c.size-c.off)/recordHeader || h.length > min(c.size-off-i-recordHeader, mostRecord) {
				continue
			}
			// part is borrowed until the next call, so it is asked for again.
			if budget -= h.length + window; budget < 0 {
				return 0, &damage{"too much behind it looks like records to tell what it is"}
			}
			b, err := c.bytes(off+i, recordHeader+h.length)
			if err != nil {
				return 0, err
			}
			if recordSum(c.seed, b, b[recordHeader:]) == h.sum {
				return h.index, nil
			}
			if part, err = c.bytes(off, n); err != nil {
				return 0, err
			}
		}
		off += n - recordHeader + 1
	}
	return 0, nil
}
