package scenarios

import (
	"bufio"
	"encoding/binary"
	"io"
	"sync/atomic"
)

var plainWays = []way{
	{"source", "the source alone, read 64 KiB at a time and not looked at", newFloor},
	{"naive", "a new slice for each packet, as most servers begin", func(src io.Reader, _ place) (walk, func()) {
		return naive(bufio.NewReaderSize(src, 16<<10)), nil
	}},
	{"peek", "bufio.Reader of 64 KiB with Peek and Discard, the best of the standard library", func(src io.Reader, _ place) (walk, func()) {
		return peek(bufio.NewReaderSize(src, 64<<10)), nil
	}},
}

// Like memKind, naive and peek are not inlined.
//
//go:noinline
func naive(r io.Reader) walk {
	h := make([]byte, frameHead)
	return func(n int) (sum uint64, err error) {
		for range n {
			if _, err := io.ReadFull(r, h); err != nil {
				return sum, err
			}
			b := make([]byte, binary.BigEndian.Uint32(h))
			if _, err := io.ReadFull(r, b); err != nil {
				return sum, err
			}
			sum += mark(b)
		}
		return sum, nil
	}
}

// peek walks frames, header and payload each with a Peek. It cannot walk those that are
// longer than the buffer.
//
//go:noinline
func peek(r *bufio.Reader) walk {
	return func(n int) (sum uint64, err error) {
		for range n {
			h, err := r.Peek(frameHead)
			if err != nil {
				return sum, err
			}
			k := int(binary.BigEndian.Uint32(h))
			if _, err := r.Discard(frameHead); err != nil {
				return sum, err
			}
			p, err := r.Peek(k)
			if err != nil {
				return sum, err
			}
			sum += mark(p)
			if _, err := r.Discard(k); err != nil {
				return sum, err
			}
		}
		return sum, nil
	}
}

// piecewise comes to the mark of a payload that is seen in pieces.
type piecewise struct {
	n           int
	first, last byte
}

func (m *piecewise) add(p []byte) {
	if m.n == 0 {
		m.first = p[0]
	}
	m.n += len(p)
	m.last = p[len(p)-1]
}

func (m *piecewise) mark() uint64 {
	return uint64(m.n) + uint64(m.first)<<24 + uint64(m.last)<<40
}

// floorWays are the least that reading frames can cost: the lengths are
// followed by hand in a buffer that is filled from the source, without a call
// for a frame, a limit or an error that says where. A reader's calls come on top.
var floorWays = []way{
	{"in-place", "floor of a borrowed frame: lengths followed by hand in a buffer of 64 KiB", func(src io.Reader, _ place) (walk, func()) {
		return (&placeFrames{src: src, buf: make([]byte, 64<<10)}).walk, nil
	}},
	{"in-place-cas", "floor of a kept frame: the same, and one compare-and-swap for its release", func(src io.Reader, _ place) (walk, func()) {
		return (&placeFrames{src: src, buf: make([]byte, 64<<10), counted: true}).walk, nil
	}},
}

// placeFrames cannot walk frames that are longer than its buffer.
type placeFrames struct {
	src     io.Reader
	buf     []byte
	r, w    int // buf[r:w] has been read and not walked
	counted bool
	word    atomic.Uint64
}

func (f *placeFrames) walk(n int) (sum uint64, err error) {
	for range n {
		for f.w-f.r < frameHead {
			if err := f.fill(); err != nil {
				return sum, err
			}
		}
		size := frameHead + int(binary.BigEndian.Uint32(f.buf[f.r:]))
		for f.w-f.r < size {
			if err := f.fill(); err != nil {
				return sum, err
			}
		}
		sum += mark(f.buf[f.r+frameHead : f.r+size])
		f.r += size
		if f.counted {
			was := f.word.Load()
			f.word.CompareAndSwap(was, was+1)
		}
	}
	return sum, nil
}

func (f *placeFrames) fill() error {
	if len(f.buf)-f.w < len(f.buf)/8 {
		f.w = copy(f.buf, f.buf[f.r:f.w])
		f.r = 0
	}
	n, err := f.src.Read(f.buf[f.w:])
	f.w += n
	return err
}
