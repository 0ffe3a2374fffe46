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
	// One after the other, not one in the other: a goroutine that waits has 2 KiB of stack.
	n, head, err := b.frameLength(prefix, order, limit)
	if err == nil {
		err = b.frameBody(n, head)
	}
	if err != nil {
		return mem.Buf{}, err
	}
	return b.win.Cut(n), nil
}

// frameLimit returns the longest frame that a call with this limit may read.
func (b *BufReader) frameLimit(limit int) int {
	if most := b.limits().frame; uint(limit-1) >= uint(most) {
		return most
	}
	return limit
}

// frameLength brings a frame's length to the window's front and returns it, and how many
// bytes it takes there.
//
//go:noinline
func (b *BufReader) frameLength(prefix int, order binary.ByteOrder, limit int) (n, head int, err error) {
	if uint(prefix) > 4 || prefix > 1 && order == nil || limit < 0 {
		panicPrefix(prefix, order, limit)
	}
	var length uint64
	if prefix == 0 {
		if length, head, err = b.varint(); err != nil {
			return 0, 0, err
		}
	} else {
		if prefix > b.win.W-b.win.R {
			if err = b.want(prefix); err != nil {
				return 0, 0, b.inside("ReadFrame", prefix, err)
			}
		}
		length, head = fixedLength(b.win.Buf[b.win.R:][:prefix], order), prefix
	}
	if most := b.frameLimit(limit); length > uint64(most) {
		return 0, 0, errFrame(length, most)
	}
	return int(length), head, nil
}

//go:noinline
func panicPrefix(prefix int, order binary.ByteOrder, limit int) {
	panic(fmt.Sprintf("sluice: BufReader.ReadFrame(%d, %v, %d): the prefix is 1 to 4 bytes in some order, or 0 for a varint, and no limit is negative", prefix, order, limit))
}

//go:noinline
func errFrame(length uint64, most int) error {
	return &Error{op: "ReadFrame", limit: int64(most), got: int64(min(length, math.MaxInt64)), Err: ErrTooLong}
}

//go:noinline
func fixedLength(p []byte, order binary.ByteOrder) (n uint64) {
	if len(p) > 1 && lowFirst(order) {
		for i, c := range p {
			n |= uint64(c) << (8 * i)
		}
		return n
	}
	for _, c := range p {
		n = n<<8 | uint64(c)
	}
	return n
}

// varint is frameLength for a varint.
func (b *BufReader) varint() (n uint64, head int, err error) {
	for head < binary.MaxVarintLen64 {
		if head == b.win.W-b.win.R {
			if err := b.want(head + 1); err != nil {
				return 0, 0, b.inside("ReadFrame", head+1, err)
			}
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

// frameBody consumes the head of a frame of n bytes and brings those to the window's front;
// on error the head is put back. Were both wanted in one piece, a frame as long as a
// size class would take a block of the next one. No bytes are beside their head.
//
//go:noinline
func (b *BufReader) frameBody(n, head int) error {
	w := &b.win
	if n <= w.W-w.R-head {
		w.R += head
		return nil
	}
	t := takenHead{reader: b, epoch: b.epoch}
	w.TakeHead(&t.head, head)
	defer t.putBack() // also when the source panics
	if err := b.want(n); err != nil {
		return b.insideFrame(head, n, err)
	}
	t.reader = nil
	return nil
}

// insideFrame is inside for the n bytes behind a head that is put back.
//
//go:noinline
func (b *BufReader) insideFrame(head, n int, err error) error {
	if err == io.EOF {
		return inside("ReadFrame", head+n, head+b.Buffered(), err)
	}
	return err
}

// takenHead is a frame's head that was consumed before the frame has come.
type takenHead struct {
	head   window.Head
	reader *BufReader // nil when the frame has come
	epoch  uint16
}

func (t *takenHead) putBack() {
	b := t.reader
	if b == nil || b.epoch != t.epoch {
		return
	}
	if w := &b.win; !w.PutBack(&t.head) {
		// The budget is not asked: the front's memory is given for it.
		w.PrependHead(&t.head, b.alloc.Slab(w.Kept()+t.head.Len()))
	}
}
