package wal

import "fmt"

// writeBytes is how much is gathered, at least, before it is written.
const writeBytes = 1 << 20

// A batch is what the next system call is to write.
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
