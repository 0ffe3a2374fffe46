package sluice

import (
	"bufio"

	"github.com/sluice-go/sluice/internal/sizing"
	"github.com/sluice-go/sluice/internal/window"
)

// Next returns the next n bytes and consumes them, borrowed until the next
// call on the reader. Fewer bytes than n are an error, and then nothing is
// consumed: io.EOF when there are none, io.ErrUnexpectedEOF when there are
// some, ErrTooLong for more than Options.Frame, bufio.ErrNegativeCount for
// n < 0, as a length from a peer's message can be.
func (b *BufReader) Next(n int) ([]byte, error) {
	r := b.win.R
	if uint(n) > uint(b.win.W-r) || uint(n) > uint(b.win.Limit) {
		return b.nextSlow(n)
	}
	b.win.R = r + n
	return b.win.Buf[r : r+n : r+n], nil
}

//go:noinline
func (b *BufReader) nextSlow(n int) ([]byte, error) {
	b.size.Open = false
	if uint(n) > sizing.MaxBlock || b.x != nil || !b.fill(n) {
		if err := b.whole("Next", n); err != nil {
			return nil, err
		}
	}
	return b.take(n), nil
}

// take consumes n bytes of the window's front and returns them, borrowed.
func (b *BufReader) take(n int) []byte {
	r := b.win.R
	b.win.R = r + n
	return b.win.Buf[r : r+n : r+n]
}

// whole brings n contiguous bytes into the window for op, or says why not.
func (b *BufReader) whole(op string, n int) error {
	if n < 0 || n > b.limits().frame {
		return b.wrongSize(op, n)
	}
	if err := b.want(n); err != nil {
		return b.inside(op, n, err)
	}
	return nil
}

// wrongSize is the error of a request for n bytes that no stream can meet.
//
//go:noinline
func (b *BufReader) wrongSize(op string, n int) error {
	if n < 0 {
		return &Error{op: op, limit: int64(n), Err: bufio.ErrNegativeCount}
	}
	return &Error{op: op, limit: int64(b.limits().frame), got: int64(n), Err: ErrTooLong}
}

// Peek returns the next n bytes without consuming them, borrowed until the
// next call on the reader. As with bufio, when there are fewer it returns
// those that there are and the reason, which is io.EOF at the end of the
// stream; the reader has not changed. Unlike bufio's it is not bound to a
// buffer size, but to Options.Frame, and as with bufio Peek(Buffered()) always succeeds.
func (b *BufReader) Peek(n int) ([]byte, error) {
	if n < 0 {
		return nil, bufio.ErrNegativeCount // UnreadByte stays possible, as with bufio
	}
	b.win.Fix()
	if n > b.win.W-b.win.R {
		if limit := b.limits().frame; n > limit && n > b.win.Len() {
			return b.View(), &Error{op: "Peek", limit: int64(limit), got: int64(n), Err: ErrTooLong}
		}
		if err := b.want(n); err != nil {
			b.win.Show()
			if b.win.Queued() > 0 {
				// Without room for all of it, the first part is returned.
				_ = b.join(b.win.Len())
			}
			return b.View(), err
		}
	}
	return b.win.Buf[b.win.R : b.win.R+n : b.win.R+n], nil
}

// View returns the bytes that can be had without reading or copying, borrowed until
// the next call on the reader. It may be empty, also when some are Buffered: in other
// pieces of memory. It is for parsers that work in batches: ask with Peek(1) for more,
// take what is there with View, and consume what was understood with Skip.
func (b *BufReader) View() []byte { return b.win.View() }

// UnreadByte takes back the last byte that was read. As with bufio it can be
// done once, after a call that read, not after Peek, Discard or WriteTo;
// otherwise it returns bufio.ErrInvalidUnreadByte.
func (b *BufReader) UnreadByte() error {
	if b.kind == closed {
		return ErrClosed
	}
	switch b.win.Unread() {
	case window.Done:
		return nil
	case window.Gone:
		// The budget is not asked: many callers ignore the error, and would lose
		// the byte.
		b.win.Prepend(b.alloc.Slab(b.win.Kept() + 1))
		return nil
	}
	return bufio.ErrInvalidUnreadByte
}
