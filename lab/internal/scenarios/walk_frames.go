package scenarios

import (
	"bufio"
	"encoding/binary"
	"io"
	"sync"
)

// frameWays are the ways to read frames without us, the floor first.
var frameWays = []way{
	{"source", "the source alone, read 64 KiB at a time and not looked at", newFloor},
	{"naive", "a new slice for each packet, as most servers begin", func(src io.Reader, _ place) walk {
		return &naiveFrames{r: bufio.NewReaderSize(src, 16<<10)}
	}},
	{"reuse", "io.ReadFull into one buffer that is used again", func(src io.Reader, _ place) walk {
		return &reuseFrames{r: bufio.NewReaderSize(src, 64<<10)}
	}},
	{"pooled", "io.ReadFull into a buffer from a sync.Pool", func(src io.Reader, _ place) walk {
		return newPooledFrames(src)
	}},
	{"peek", "bufio.Reader of 64 KiB with Peek and Discard, the best of the standard library", func(src io.Reader, _ place) walk {
		return &peekFrames{r: bufio.NewReaderSize(src, 64<<10)}
	}},
	{"bufiox", "cloudwego bufiox, Next over 64 KiB, released when little room is left", func(src io.Reader, p place) walk {
		return &bufioxFrames{bufioxSource: newBufiox(src, p.s)}
	}},
}

type naiveFrames struct {
	r *bufio.Reader
	h [frameHead]byte
}

func (w *naiveFrames) walk(n int) (sum uint64, err error) {
	for range n {
		if _, err := io.ReadFull(w.r, w.h[:]); err != nil {
			return sum, err
		}
		p := make([]byte, binary.BigEndian.Uint32(w.h[:]))
		if _, err := io.ReadFull(w.r, p); err != nil {
			return sum, err
		}
		sum += mark(p)
	}
	return sum, nil
}

type reuseFrames struct {
	r   io.Reader
	h   [frameHead]byte
	buf []byte
}

func (w *reuseFrames) walk(n int) (sum uint64, err error) {
	for range n {
		if _, err := io.ReadFull(w.r, w.h[:]); err != nil {
			return sum, err
		}
		k := int(binary.BigEndian.Uint32(w.h[:]))
		if cap(w.buf) < k {
			w.buf = make([]byte, k)
		}
		p := w.buf[:k]
		if _, err := io.ReadFull(w.r, p); err != nil {
			return sum, err
		}
		sum += mark(p)
	}
	return sum, nil
}

type pooledFrames struct {
	r    *bufio.Reader
	h    [frameHead]byte
	pool sync.Pool // of *[]byte
}

func newPooledFrames(src io.Reader) *pooledFrames {
	w := &pooledFrames{r: bufio.NewReaderSize(src, 64<<10)}
	w.pool.New = func() any { return new([]byte) }
	return w
}

// next returns the next payload in a buffer of the pool, to be put back.
func (w *pooledFrames) next() (*[]byte, error) {
	if _, err := io.ReadFull(w.r, w.h[:]); err != nil {
		return nil, err
	}
	k := int(binary.BigEndian.Uint32(w.h[:]))
	b := w.pool.Get().(*[]byte)
	if cap(*b) < k {
		*b = make([]byte, k, roundUp(k))
	}
	*b = (*b)[:k]
	_, err := io.ReadFull(w.r, *b)
	return b, err
}

func (w *pooledFrames) walk(n int) (sum uint64, err error) {
	for range n {
		b, err := w.next()
		if err != nil {
			return sum, err
		}
		sum += mark(*b)
		w.pool.Put(b)
	}
	return sum, nil
}

// roundUp keeps a pool of mixed sizes from making its buffers over and over.
func roundUp(n int) int { return (n + 1023) &^ 1023 }

type peekFrames struct{ r *bufio.Reader }

func (w *peekFrames) walk(n int) (sum uint64, err error) {
	r := w.r
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

// wholePeek asks bufio once for header and payload together, one call less
// for each frame. It cannot walk frames that are longer than the buffer.
var wholePeek = way{"peek-whole", "the same with one Peek for header and payload", func(src io.Reader, _ place) walk {
	return &wholeFrames{bufio.NewReaderSize(src, 64<<10)}
}}

type wholeFrames struct{ r *bufio.Reader }

func (w *wholeFrames) walk(n int) (sum uint64, err error) {
	r := w.r
	for range n {
		h, err := r.Peek(frameHead)
		if err != nil {
			return sum, err
		}
		size := frameHead + int(binary.BigEndian.Uint32(h))
		p, err := r.Peek(size)
		if err != nil {
			return sum, err
		}
		sum += mark(p[frameHead:])
		if _, err := r.Discard(size); err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// peekPieces walks a payload that is longer than the buffer, a buffer at a
// time.
func peekPieces(r *bufio.Reader, n int) (uint64, error) {
	var m piecewise
	for n > 0 {
		if _, err := r.Peek(1); err != nil {
			return 0, err
		}
		k := min(n, r.Buffered())
		p, err := r.Peek(k)
		if err != nil {
			return 0, err
		}
		m.add(p)
		if _, err := r.Discard(k); err != nil {
			return 0, err
		}
		n -= k
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
