package sluice

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/sluice-go/sluice/internal/sizing"
	"github.com/sluice-go/sluice/internal/source"
	"github.com/sluice-go/sluice/mem"
)

// maxChan is how many slices may wait in a channel: 3 GiB of slice headers.
const maxChan = 1 << 27

// NewBufReaderChan returns a reader of the slices that another goroutine
// sends to Mouth, or passes to Feed; n of them, 0 to 1<<27, may wait in the
// channel. Slices are transferred: they are viewed where they are, and Bufs read from them
// keep them alive; short ones that pile up are copied together. Closing Mouth
// ends the stream with io.EOF; only the feeder may do that.
func NewBufReaderChan(n int, o ...Options) *BufReader {
	if n < 0 || n > maxChan {
		panic(fmt.Sprintf("sluice: NewBufReaderChan(%d), 0 to %d are possible", n, maxChan))
	}
	b := made("NewBufReaderChan", o)
	b.start(mouth)
	s := source.NewMouth(n)
	b.Mouth = s.C
	b.feed.Store(&feed{mouth: s})
	return b
}

// NewBufReaderFed returns a reader of the bytes that its user passes to Feed,
// FeedBuf or FeedCopy between calls: the same parser then runs under an event
// loop. A call that lacks bytes returns ErrShort and has consumed nothing; a
// parser that has consumed part of a message by then goes back with Rollback.
// A piece of any length is taken, unless as much waits already as the longest frame and the
// length in front of it, Options.Frame and 10 bytes: how its bytes come does not decide whether a
// frame is too long, and no more waits than that and a piece. Lines and headers want an
// Options.Frame that is no smaller than their limits.
//
// Such a reader does not wait for memory: where its allocator has a budget, a call may
// return mem.ErrBudget, and has consumed nothing. Stop feeding it then, and call again
// later; or give it an allocator without a budget, so that Options.Frame is its bound.
func NewBufReaderFed(o ...Options) *BufReader {
	b := made("NewBufReaderFed", o)
	b.resetFed()
	return b
}

// Feed adds p, transferred, to what the reader has. For a reader that
// NewBufReaderChan made it may be called by another goroutine; it waits while
// the channel is full, and returns ErrClosed after Recycle. For one that
// NewBufReaderFed made it belongs to the goroutine that reads, never waits,
// and returns ErrTooLong when as much as Options.Frame allows waits, whatever the length of p.
// Other readers panic.
func (b *BufReader) Feed(p []byte) error {
	f := b.feed.Load()
	if f == nil {
		panic("sluice: BufReader.Feed of a reader that has another source")
	}
	if f.mouth != nil {
		if f.mouth.Send(p) != nil {
			return ErrClosed
		}
		return nil
	}
	if err := b.mayFeed(len(p)); err != nil {
		return err
	}
	b.give(p)
	return nil
}

// FeedBuf is Feed of a Buf, transferred, for readers that NewBufReaderFed made.
// Short ones that pile up are copied together, as by Feed.
func (b *BufReader) FeedBuf(p mem.Buf) error {
	if err := b.mayFeed(p.Len()); err != nil {
		p.Release()
		return err
	}
	if b.copied(p.Bytes()) {
		p.Release()
	} else {
		b.win.AddBuf(p)
	}
	return nil
}

// FeedCopy is Feed of bytes that are borrowed until FeedCopy returns: they are
// copied, into the current block where they fit. With mem.ErrBudget none of them
// is added, so that the call can be repeated.
func (b *BufReader) FeedCopy(p []byte) error {
	if err := b.mayFeed(len(p)); err != nil {
		return err
	}
	w := &b.win
	b.size.Drained = false
	fed := 0
	for len(p) > 0 {
		room, err := b.feedRoom(len(p))
		if err != nil {
			w.Unfill(fed)
			return err
		}
		n := copy(room, p)
		w.Filled(n)
		b.size.Saw(n, len(room), b.blockLength())
		p = p[n:]
		fed += n
	}
	return nil
}

// feedRoom returns where some of n bytes more go.
func (b *BufReader) feedRoom(n int) ([]byte, error) {
	w := &b.win
	if !w.Gathering() {
		return b.room(w.Len()+1, false)
	}
	if room := w.Room(); len(room) > 0 {
		return room, nil
	}
	s, err := b.acquire(b.size.Behind(n, w.Len()), sizing.MinBlock)
	if err != nil {
		return nil, err
	}
	w.AddBlock(s, len(s.Bytes()))
	return w.Room(), nil
}

// FeedEnd says that there is no more: once what was fed is used up, calls
// return err, or io.EOF when err is nil.
func (b *BufReader) FeedEnd(err error) {
	f := b.feed.Load()
	if f == nil || f.mouth != nil {
		panic("sluice: BufReader.FeedEnd of a reader that is not fed")
	}
	if err == nil {
		err = io.EOF
	}
	f.end = err
}

func (b *BufReader) mayFeed(n int) error {
	f := b.feed.Load()
	if f == nil || f.mouth != nil {
		panic("sluice: BufReader is not fed")
	}
	if b.kind == closed {
		return ErrClosed
	}
	// The longest frame waits behind its length, and as long as its last byte has not come.
	if limit, have := b.limits().frame, b.Buffered(); have-binary.MaxVarintLen64 >= limit {
		return &Error{op: "Feed", limit: int64(limit), got: int64(have + n), Err: ErrTooLong}
	}
	return nil
}
