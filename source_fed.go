package sluice

import (
	"io"

	"github.com/sluice-go/sluice/mem"
)

// fedSource has what its user feeds it between calls, and never waits.
type fedSource struct{ end error }

// NewBufReaderFed returns a reader of the bytes that its user passes to Feed,
// FeedBuf or FeedCopy between calls: the same parser then runs under an event
// loop. A call that lacks bytes returns ErrShort and has consumed nothing; a
// parser that has consumed part of a message by then goes back with Rollback.
// At most Limits.Frame bytes may wait to be read.
func NewBufReaderFed() *BufReader {
	b := new(BufReader)
	b.ResetFed()
	return b
}

// ResetFed is Reset to a reader as NewBufReaderFed makes it.
func (b *BufReader) ResetFed() {
	s := &fedSource{}
	b.start(s)
	b.feed.Store(&feed{fed: s})
}

func (*fedSource) queues() {}

func (s *fedSource) fetch(b *BufReader) error {
	if b.r == b.w && b.mark < 0 {
		b.dropBlock()
	}
	if s.end != nil {
		return s.end
	}
	return ErrShort
}

func (*fedSource) reader() io.Reader { return nil }
func (*fedSource) close()            {}

// feed is the side of a reader that others put bytes in.
type feed struct {
	mouth *mouthSource
	fed   *fedSource
}

// Feed adds p, transferred, to what the reader has. For a reader that
// NewBufReaderChan made it may be called by another goroutine; it waits while
// the channel is full, and returns ErrClosed after Recycle. For one that
// NewBufReaderFed made it belongs to the goroutine that reads, never waits,
// and returns ErrTooLong when more is waiting to be read than Limits.Frame
// allows. Other readers panic.
func (b *BufReader) Feed(p []byte) error {
	f := b.feed.Load()
	if f == nil {
		panic("sluice: BufReader.Feed of a reader that has another source")
	}
	if f.mouth != nil {
		return f.mouth.send(p)
	}
	if err := b.mayFeed(len(p)); err != nil {
		return err
	}
	b.enqueueBytes(p)
	b.show()
	return nil
}

// FeedBuf is Feed of a Buf, transferred, for readers that NewBufReaderFed made.
func (b *BufReader) FeedBuf(p mem.Buf) error {
	n := p.Len()
	if err := b.mayFeed(n); err != nil || n == 0 {
		p.Release()
		return err
	}
	b.total += int64(n)
	b.extras().enqueue(p)
	b.show()
	return nil
}

// FeedCopy is Feed of bytes that are borrowed until FeedCopy returns: they are
// copied, into the block at hand where they fit.
func (b *BufReader) FeedCopy(p []byte) error {
	if err := b.mayFeed(len(p)); err != nil {
		return err
	}
	b.size.drained = false
	for fed := 0; len(p) > 0; {
		if b.queued() > 0 {
			if err := b.enqueueCopy(p); err != nil {
				return err
			}
			b.total += int64(len(p))
			return nil
		}
		b.need = b.w - b.r + 1
		room, err := b.room()
		if err != nil {
			// All or nothing, so that the call can be repeated.
			b.w -= fed
			b.total -= int64(fed)
			return err
		}
		n := copy(room, p)
		b.received(n, len(room))
		p = p[n:]
		fed += n
	}
	return nil
}

// FeedEnd says that there is no more: once what was fed is used up, calls
// return err, or io.EOF when err is nil.
func (b *BufReader) FeedEnd(err error) {
	f := b.feed.Load()
	if f == nil || f.fed == nil {
		panic("sluice: BufReader.FeedEnd of a reader that is not fed")
	}
	if err == nil {
		err = io.EOF
	}
	f.fed.end = err
}

func (b *BufReader) mayFeed(n int) error {
	f := b.feed.Load()
	if f == nil || f.fed == nil {
		panic("sluice: BufReader is not fed")
	}
	if b.src == nil {
		return ErrClosed
	}
	if limit, have := b.limits().Frame, b.Buffered(); have > limit-n && have > 0 {
		return &Error{Op: "Feed", Limit: int64(limit), Got: int64(have + n), Err: ErrTooLong}
	}
	return nil
}
