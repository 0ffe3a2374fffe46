package sluice

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/sluice-go/sluice/internal/window"
	"github.com/sluice-go/sluice/mem"
)

// ReadFrame reads the length of a frame and returns the frame, without its
// length, retained as by ReadBuf. It is what WriteFrame wrote: the length is
// prefix bytes, 1 to 4, in the given order; with 0 it is an unsigned varint, as
// encoding/binary reads it. The order may be nil for 0 and 1. Another prefix,
// no order where one is needed or a negative limit panics.
//
// A length above limit is ErrTooLong; 0 is Options.Frame, which a limit cannot
// raise. A varint of more than 64 bits is ErrTooLong. io.EOF is for the
// boundary between frames, io.ErrUnexpectedEOF for an end inside one. On any
// error nothing is consumed, the length included: the call can be repeated
// after a deadline or ErrShort.
func (b *BufReader) ReadFrame(prefix int, order binary.ByteOrder, limit int) (mem.Buf, error) {
	// The usual case, inlined: the whole frame is there.
	if r := b.win.R; prefix == 4 && b.win.W-r >= 4 && order != nil && limit >= 0 {
		n := uint(order.Uint32(b.win.Buf[r : r+4]))
		if s := b.win.Slab(); n-1 < uint(b.win.W-r-4) && n <= uint(b.frameLimit(limit)) && s.Valid() {
			b.win.R = r + 4 + int(n)
			return s.Cut(r+4, int(n)), nil
		}
	}
	return b.frameSlow(prefix, order, limit)
}

// frameLimit returns the longest frame that a call with this limit may read.
func (b *BufReader) frameLimit(limit int) int {
	if most := b.limits().frame; uint(limit-1) >= uint(most) {
		return most
	}
	return limit
}

//go:noinline
func (b *BufReader) frameSlow(prefix int, order binary.ByteOrder, limit int) (mem.Buf, error) {
	if uint(prefix) > 4 || prefix > 1 && order == nil || limit < 0 {
		panic(fmt.Sprintf("sluice: BufReader.ReadFrame(%d, %v, %d): the prefix is 1 to 4 bytes in some order, or 0 for a varint, and no limit is negative", prefix, order, limit))
	}
	n, head, err := b.frameHead(prefix, order)
	if err != nil {
		return mem.Buf{}, err
	}
	if most := b.frameLimit(limit); n > uint64(most) {
		return mem.Buf{}, &Error{op: "ReadFrame", limit: int64(most), got: int64(min(n, math.MaxInt64)), Err: ErrTooLong}
	}
	if n > 0 && int(n) <= b.win.W-b.win.R-head {
		b.win.R += head
		return b.win.Cut(int(n)), nil
	}
	return b.frameBody(int(n), head)
}

// frameHead returns the length that stands at the window's front, and how many
// bytes it takes there.
func (b *BufReader) frameHead(prefix int, order binary.ByteOrder) (n uint64, head int, err error) {
	if prefix == 0 {
		return b.varint()
	}
	if err := b.headBytes(prefix); err != nil {
		return 0, 0, err
	}
	p := b.win.Buf[b.win.R:][:prefix]
	if prefix > 1 && lowFirst(order) {
		for i, c := range p {
			n |= uint64(c) << (8 * i)
		}
		return n, prefix, nil
	}
	for _, c := range p {
		n = n<<8 | uint64(c)
	}
	return n, prefix, nil
}

// headBytes brings n bytes of a head to the window's front, whatever the limit
// for frames is.
func (b *BufReader) headBytes(n int) error {
	if n <= b.win.W-b.win.R {
		return nil
	}
	if err := b.want(n); err != nil {
		return inside("ReadFrame", n, b.Buffered(), err)
	}
	return nil
}

// varint is frameHead for a varint.
func (b *BufReader) varint() (n uint64, head int, err error) {
	for head < binary.MaxVarintLen64 {
		if err := b.headBytes(head + 1); err != nil {
			return 0, 0, err
		}
		c := b.win.Buf[b.win.R+head]
		if head == binary.MaxVarintLen64-1 && c > 1 {
			break
		}
		n |= uint64(c&0x7f) << (7 * head)
		head++
		if c < 0x80 {
			return n, head, nil
		}
	}
	return 0, 0, &Error{op: "ReadFrame", Err: errNumber}
}

// frameBody reads a frame of n bytes behind its head, which is consumed before
// and put back on error. Were both wanted in one piece, a frame as long as a
// size class would take a block of the next one.
func (b *BufReader) frameBody(n, head int) (p mem.Buf, err error) {
	w, epoch := &b.win, b.epoch
	var before window.Head
	w.TakeHead(&before, head)
	done := false
	defer func() { // also when the source panics
		if done || b.epoch != epoch {
			return
		}
		if !w.PutBack(&before) {
			// The budget is not asked: the front's memory is given for it.
			w.PrependHead(&before, b.alloc.Slab(w.Kept()+head))
		}
		if err == io.EOF {
			err = inside("ReadFrame", head+n, b.Buffered(), err)
		}
	}()
	if n == 0 {
		p = w.Cut(0) // beside its head
	} else if err = b.want(n); err == nil {
		p = w.Cut(n)
	}
	done = err == nil
	return p, err
}
