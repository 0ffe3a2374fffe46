package scenarios

import (
	"bufio"
	"encoding/binary"
	"io"
	"sync"
	"sync/atomic"
)

// plainWays are the ways to read units with the standard library, the floor first.
var plainWays = []way{
	{"source", "the source alone, read 64 KiB at a time and not looked at", newFloor},
	{"naive", "a new slice for each packet, as most servers begin", func(src io.Reader, p place) (walk, func()) {
		return full(bufio.NewReaderSize(src, 16<<10), p, func(n int) []byte { return make([]byte, n) }, func() {}), nil
	}},
	{"reuse", "io.ReadFull into one buffer that is used again", func(src io.Reader, p place) (walk, func()) {
		return oneBuffer(bufio.NewReaderSize(src, 64<<10), p), nil
	}},
	{"pooled", "io.ReadFull into a buffer from a sync.Pool", func(src io.Reader, p place) (walk, func()) {
		pool := sync.Pool{New: func() any { return new([]byte) }}
		var b *[]byte
		return full(bufio.NewReaderSize(src, 64<<10), p, func(n int) []byte {
			b = pool.Get().(*[]byte)
			if cap(*b) < n {
				*b = make([]byte, n, roundUp(n))
			}
			*b = (*b)[:n]
			return *b
		}, func() { pool.Put(b) }), nil
	}},
	{"peek", "bufio.Reader of 64 KiB with Peek and Discard, the best of the standard library", func(src io.Reader, _ place) (walk, func()) {
		return peek(bufio.NewReaderSize(src, 64<<10)), nil
	}},
}

// roundUp keeps a pool of mixed sizes from making its buffers over and over.
func roundUp(n int) int { return (n + 1023) &^ 1023 }

// full reads each payload with io.ReadFull into what buffer returns, which is let go
// after that.
func full(r io.Reader, p place, buffer func(int) []byte, letGo func()) walk {
	f, h := p.s.format, make([]byte, p.s.head)
	return func(n int) (sum uint64, err error) {
		for range n {
			k, m := f.fixed, uint64(0)
			if f.head > 0 {
				if _, err := io.ReadFull(r, h); err != nil {
					return sum, err
				}
				k, m = f.begin(h)
			}
			b := buffer(k + f.tail)
			if _, err := io.ReadFull(r, b); err != nil {
				return sum, err
			}
			sum += m + f.end(b, k)
			letGo()
		}
		return sum, nil
	}
}

// oneBuffer is full with a buffer for all units.
func oneBuffer(r io.Reader, p place) walk {
	all := make([]byte, p.s.max)
	return full(r, p, func(n int) []byte { return all[:n] }, func() {})
}

// peek walks frames, header and payload each with a Peek. A payload that is longer
// than the buffer is walked a buffer at a time.
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
			if k > r.Size() {
				m, err := peekPieces(r, k)
				if err != nil {
					return sum, err
				}
				sum += m
				continue
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

// peekWhole asks bufio once for header and payload together, one call less for each
// unit. It cannot walk units that are longer than the buffer.
func peekWhole(r *bufio.Reader, p place) walk {
	f := p.s.format
	return func(n int) (sum uint64, err error) {
		for range n {
			k, m := f.fixed, uint64(0)
			if f.head > 0 {
				h, err := r.Peek(f.head)
				if err != nil {
					return sum, err
				}
				k, m = f.begin(h)
			}
			size := f.head + k + f.tail
			p, err := r.Peek(size)
			if err != nil {
				return sum, err
			}
			sum += m + f.end(p[f.head:], k)
			if _, err := r.Discard(size); err != nil {
				return sum, err
			}
		}
		return sum, nil
	}
}

var wholePeek = way{"peek-whole", "the same with one Peek for header and payload", func(src io.Reader, p place) (walk, func()) {
	return peekWhole(bufio.NewReaderSize(src, 64<<10), p), nil
}}

func peekPieces(r *bufio.Reader, n int) (uint64, error) {
	var m piecewise
	for n > 0 {
		if _, err := r.Peek(1); err != nil {
			return 0, err
		}
		p, err := r.Peek(min(n, r.Buffered()))
		if err != nil {
			return 0, err
		}
		m.add(p)
		n -= len(p)
		if _, err := r.Discard(len(p)); err != nil {
			return 0, err
		}
	}
	return m.mark(), nil
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
