package wal

import "fmt"

const (
	// scratchBytes is for the headers and short payloads of one write.
	scratchBytes = 256 << 10
	// copied is the longest payload that is copied beside its header: for the kernel a
	// part more costs as much.
	copied = 1 << 10
)

// A batch is what one system call is to write.
type batch struct {
	scratch []byte   // filled up to its length; parts point into it
	open    int      // where in scratch the part begins that has not been added
	parts   [][]byte // what comes before that
	size    int64    // bytes of all
	places  []place  // of some of the records
}

// room reports whether another record fits.
func (b *batch) room(payload int) bool {
	need := recordHeader
	if payload <= copied {
		need += payload
	}
	return len(b.scratch)+need <= cap(b.scratch) && len(b.parts)+3 <= maxParts
}

// add adds a record, borrowed until the batch is written.
func (b *batch) add(seed uint32, index, durable uint64, payload []byte) {
	n := len(b.scratch)
	b.scratch = b.scratch[:n+recordHeader]
	putRecordHeader(b.scratch[n:], seed, index, durable, payload)
	b.size += int64(recordHeader + len(payload))
	if len(payload) <= copied {
		b.scratch = append(b.scratch, payload...)
		return
	}
	b.seal()
	b.parts = append(b.parts, payload)
}

// seal makes a part of what scratch has got since the last.
func (b *batch) seal() {
	if n := len(b.scratch); n > b.open {
		b.parts = append(b.parts, b.scratch[b.open:n:n])
		b.open = n
	}
}

func (b *batch) reset() {
	clear(b.parts)
	b.scratch, b.parts, b.places, b.open, b.size = b.scratch[:0], b.parts[:0], b.places[:0], 0, 0
}

// AppendBatch appends records, borrowed until it returns, and returns the number
// of the first; the others follow without a gap. They are with the operating
// system then, and durable after the next Sync. They are written together, in
// one system call if they are not very many.
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
		at := size + b.size
		if at > segmentHeader && at+int64(recordHeader+len(r)) > l.options.SegmentBytes {
			if err := l.write(last); err != nil {
				return 0, err
			}
			if err := l.roll(); err != nil {
				return 0, err
			}
			size, durable = segmentHeader, last
			at = size
		} else if !b.room(len(r)) {
			written := b.size
			if err := l.write(last); err != nil {
				return 0, err
			}
			size += written
		}
		last++
		b.places = append(b.places, place{last, at})
		b.add(l.seed, last, durable, r)
	}
	return first, l.write(last)
}

// write writes the batch, whose last record is numbered, and empties it.
func (l *Log) write(last uint64) error {
	b := &l.batch
	if b.size == 0 {
		return nil
	}
	b.seal()
	s := &l.segments[len(l.segments)-1]
	if _, err := l.file.WriteParts(b.parts, s.size); err != nil {
		return l.fail(err)
	}
	l.state.Lock()
	s.size += b.size
	for _, p := range b.places {
		s.note(p.index, p.off)
	}
	l.last = last
	l.state.Unlock()
	b.reset()
	return nil
}
