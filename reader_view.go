package sluice

import (
	"bufio"
	"fmt"
)

// Next returns the next n bytes and consumes them, borrowed until the next
// call on the reader. Fewer bytes than n are an error, and then nothing is
// consumed: io.EOF when there are none, io.ErrUnexpectedEOF when there are
// some, ErrTooLong for more than Limits.Frame, bufio.ErrNegativeCount for
// n < 0, which a length in somebody's message can be.
func (b *BufReader) Next(n int) ([]byte, error) {
	r := b.r
	if uint(n) > uint(b.w-r) {
		return b.nextSlow(n)
	}
	b.r = r + n
	return b.buf[r : r+n : r+n], nil
}

//go:noinline
func (b *BufReader) nextSlow(n int) ([]byte, error) {
	if n < 0 || b.plain == nil || !b.straight(n) {
		if err := b.whole("Next", n); err != nil {
			return nil, err
		}
	}
	r := b.r
	b.r = r + n
	return b.buf[r : r+n : r+n], nil
}

// whole brings n contiguous bytes into the window for op, or says why not.
func (b *BufReader) whole(op string, n int) error {
	if n < 0 {
		return &Error{Op: op, Limit: int64(n), Err: bufio.ErrNegativeCount}
	}
	if limit := b.limits().Frame; n > limit {
		return &Error{Op: op, Limit: int64(limit), Got: int64(n), Err: ErrTooLong}
	}
	if err := b.ensure(n); err != nil {
		return inside(op, n, b.Buffered(), err)
	}
	return nil
}

// Peek returns the next n bytes without consuming them, borrowed until the
// next call on the reader. As with bufio, when there are fewer it returns
// those that there are and the reason, which is io.EOF at the end of the
// stream; the reader has not changed. Unlike bufio's it is not bound to a
// buffer size, but to Limits.Frame.
func (b *BufReader) Peek(n int) ([]byte, error) {
	b.fixed = b.r
	if uint(n) > uint(b.w-b.r) {
		if n < 0 {
			return nil, bufio.ErrNegativeCount
		}
		if limit := b.limits().Frame; n > limit {
			return b.View(), &Error{Op: "Peek", Limit: int64(limit), Got: int64(n), Err: ErrTooLong}
		}
		if err := b.ensure(n); err != nil {
			if b.r == b.w && b.mark < 0 && b.queued() > 0 {
				b.adopt()
			}
			if q := b.queued(); q > 0 && b.merge(b.w-b.r+q) != nil {
				return b.View(), err
			}
			return b.View(), err
		}
	}
	return b.buf[b.r : b.r+n : b.r+n], nil
}

// View returns all bytes that can be had without reading, borrowed until the
// next call on the reader. It may be empty. With Advance it is for parsers
// that work in batches: ask with Peek(1) for more, take what is there with
// View, and consume what was understood with Advance.
func (b *BufReader) View() []byte { return b.buf[b.r:b.w:b.w] }

// Advance consumes n bytes of the View. More than View has panic.
func (b *BufReader) Advance(n int) {
	if uint(n) > uint(b.w-b.r) {
		b.panicAdvance(n)
	}
	b.r += n
}

//go:noinline
func (b *BufReader) panicAdvance(n int) {
	panic(fmt.Sprintf("sluice: BufReader.Advance(%d) of %d bytes in view", n, b.w-b.r))
}

// Discard skips the next n bytes and returns how many it skipped: fewer than
// n only with the reason, which as with bufio is io.EOF also in the middle.
func (b *BufReader) Discard(n int) (int, error) {
	if n < 0 {
		return 0, bufio.ErrNegativeCount
	}
	done, err := b.skip(n)
	b.fixed = b.r
	return done, err
}

// UnreadByte takes back the last byte that was read. As with bufio it can be
// done once, after a call that read, not after Peek, Discard or WriteTo;
// otherwise it returns bufio.ErrInvalidUnreadByte.
func (b *BufReader) UnreadByte() error {
	if b.src == nil {
		return ErrClosed
	}
	if b.r == b.fixed {
		return bufio.ErrInvalidUnreadByte
	}
	if b.r > b.lo {
		b.r--
		b.fixed = b.r
		return nil
	}
	if b.lastByte < 0 {
		return bufio.ErrInvalidUnreadByte
	}
	c := byte(b.lastByte)
	if err := b.front(c); err != nil {
		return err
	}
	b.lastByte = -1
	b.fixed = b.r
	return nil
}

// front puts one byte before the window, whose block does not have it.
func (b *BufReader) front(c byte) error {
	have := b.w - b.r
	slab, err := b.alloc.TrySlab(have + 1)
	if err != nil {
		return err
	}
	p := slab.Bytes()
	p[0] = c
	copy(p[1:], b.View())
	b.dropBlock()
	b.slab, b.buf, b.owned = slab, p, true
	b.r, b.w = 0, have+1
	return nil
}
