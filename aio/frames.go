package aio

import (
	"errors"
	"fmt"
	"io"

	"github.com/sluice-go/sluice/aio/internal/tlsfed"
	"github.com/sluice-go/sluice/mem"
)

// DefaultFrameLimit is used when Frames.Limit is 0, in bytes.
const DefaultFrameLimit = 1 << 20

// ErrFrameTooLong: a frame has more bytes than Frames.Limit. It comes wrapped, with
// the numbers.
var ErrFrameTooLong = errors.New("aio: frame too long")

// Frames cuts the bytes of one connection into whole frames. A frame that lies in one
// read is passed on without a copy; an incomplete one is kept until the rest has come.
// Use one Frames for each connection. Its memory follows the bytes that have come,
// whatever length the head of a frame announces: room for twice as many, 1 KiB at least,
// rounded up to a block. Between whole frames it holds no memory.
//
// Do not change the fields after the first call. It is for one goroutine at a time.
type Frames struct {
	// Size returns how many bytes the frame has, with its head, that begins with the
	// bytes given; or 0 when those are too few to tell. Its error ends the connection.
	// LengthPrefix makes one.
	Size func(begin []byte) (int, error)
	// Limit is the most bytes that a frame may have; DefaultFrameLimit unless set.
	Limit int
	// Allocator is where what is kept comes from, within its budget; mem.Default()
	// unless set.
	Allocator *mem.Allocator

	kept mem.Buf // room for the frame that has begun
	have int     // bytes of it that have come
	want int     // its size, 0 when that is not known yet

	beyond bool // what has come is kept beyond the budget
	over   bool // it was; reset by the reader of this
}

// LengthPrefix returns a Frames.Size for frames whose first n bytes, 1 to 4, say how
// many bytes follow, the highest first. It borrows them until it returns.
func LengthPrefix(n int) func(begin []byte) (int, error) {
	if n < 1 || n > 4 {
		panic(fmt.Sprintf("aio: LengthPrefix of %d bytes, 1 to 4 are possible", n))
	}
	return func(begin []byte) (int, error) {
		if len(begin) < n {
			return 0, nil
		}
		size := uint64(0)
		for _, b := range begin[:n] {
			size = size<<8 | uint64(b)
		}
		return int(min(size+uint64(n), 1<<31-1)), nil // more is beyond any Limit that fits an int
	}
}

// Completed takes the completion of a read and calls frame for each frame that is
// whole, borrowed until it returns. It releases r.Buf. It returns the error of the
// read, with io.ErrUnexpectedEOF for an end within a frame, of Size, of frame;
// ErrFrameTooLong; or mem.ErrBudget when there was no memory for what is incomplete.
// After an error Frames is empty, and the frame boundaries of the connection are lost.
func (f *Frames) Completed(r *OpResult, frame func([]byte) error) error {
	if r.Buf.Valid() {
		defer r.Buf.Release()
	}
	err := f.Add(r.Buffer[:r.Size], frame)
	if err == nil && r.Error != nil {
		if err = r.Error; err == io.EOF && f.have > 0 {
			err = io.ErrUnexpectedEOF
		}
		f.Release()
	}
	return err
}

// Add is Completed for bytes in hand, borrowed.
func (f *Frames) Add(p []byte, frame func([]byte) error) (err error) {
	for len(p) > 0 && err == nil {
		var n int
		if f.have > 0 {
			n, err = f.goOn(p, frame)
		} else {
			n, err = f.begin(p, frame)
		}
		p = p[n:]
	}
	if err != nil {
		f.Release()
	}
	return err
}

// Buffered returns how many bytes of a frame have come that is not whole.
func (f *Frames) Buffered() int { return f.have }

// Release forgets what is incomplete. Frames can be used on.
func (f *Frames) Release() {
	if f.kept.Valid() {
		f.kept.Release()
	}
	f.have, f.want = 0, 0
}

// begin takes a frame from the front of p, or keeps all of p as the beginning of one.
func (f *Frames) begin(p []byte, frame func([]byte) error) (n int, err error) {
	size, err := f.size(p)
	switch {
	case err != nil:
		return 0, err
	case size > 0 && size <= len(p):
		return size, frame(p[:size:size])
	}
	f.want = size
	return len(p), f.keep(p)
}

// sizeStep is how many bytes are added before Size is asked again, at least: heads
// are short, and what is not of the frame has been copied for nothing.
const sizeStep = 64

// goOn adds bytes from the front of p to the frame that has begun.
func (f *Frames) goOn(p []byte, frame func([]byte) error) (n int, err error) {
	before := f.have
	if f.want > 0 {
		p = p[:min(len(p), f.want-f.have)]
	} else {
		p = p[:min(len(p), max(f.have, sizeStep))]
	}
	if err := f.keep(p); err != nil {
		return 0, err
	}
	if f.want == 0 {
		if f.want, err = f.size(f.kept.Bytes()[:f.have]); err != nil {
			return 0, err
		}
		switch {
		case f.want == 0:
			return len(p), nil
		case f.want <= before:
			panic(fmt.Sprintf("aio: Frames.Size says %d of %d bytes and could not tell from %d", f.want, f.have, before))
		}
		f.have = min(f.have, f.want)
	}
	n = f.have - before
	if f.have < f.want {
		return n, nil
	}
	err = frame(f.kept.Bytes()[:f.have:f.have])
	f.Release()
	return n, err
}

// size is Size within the limit.
func (f *Frames) size(begin []byte) (int, error) {
	if f.Size == nil {
		panic("aio: Frames without Size")
	}
	limit := f.Limit
	if limit == 0 {
		limit = DefaultFrameLimit
	}
	n, err := f.Size(begin)
	switch {
	case err != nil:
		return 0, err
	case n < 0:
		panic(fmt.Sprintf("aio: Frames.Size returned %d", n))
	case n > limit:
		return 0, fmt.Errorf("%w: %d bytes, the limit is %d", ErrFrameTooLong, n, limit)
	case n == 0 && len(begin) >= limit:
		return 0, fmt.Errorf("%w: %d bytes and no end, the limit is %d", ErrFrameTooLong, len(begin), limit)
	}
	return n, nil
}

// keep appends p to what is kept.
func (f *Frames) keep(p []byte) error {
	have := f.have + len(p)
	if !f.kept.Valid() || f.kept.Len() < have {
		room := max(2*have, 1<<10)
		if f.want > 0 {
			room = min(room, f.want)
		}
		a := f.Allocator
		if a == nil {
			a = mem.Default()
		}
		larger, err := f.room(a, room)
		if err != nil {
			return err
		}
		if f.kept.Valid() {
			copy(larger.Bytes(), f.kept.Bytes()[:f.have])
			f.kept.Release()
		}
		f.kept = larger //sluice:moved
	}
	copy(f.kept.Bytes()[f.have:], p)
	f.have = have
	return nil
}

// room returns memory for at least n bytes.
func (f *Frames) room(a *mem.Allocator, n int) (mem.Buf, error) {
	if !f.beyond {
		return a.TryGet(n)
	}
	b, over, err := tlsfed.Take(a, n, n)
	f.over = f.over || over
	return b, err //sluice:moved
}
