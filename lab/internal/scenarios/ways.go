package scenarios

import (
	"bufio"
	"encoding/binary"
	"io"
	"sync/atomic"

	"github.com/cloudwego/gopkg/bufiox"

	"github.com/sluice-go/sluice"
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

// A bufioxSource is a bufiox reader that is used as well as it can be: it is
// let read 64 KiB at a time, and Release, which moves what is left to the
// front, waits until the next unit might not fit.
type bufioxSource struct {
	r     *bufiox.DefaultReader
	limit int
	warm  bool
}

func newBufiox(src io.Reader, s *stream) *bufioxSource {
	return &bufioxSource{r: bufiox.NewDefaultReader(src), limit: max(0, 64<<10-s.max)}
}

// grow makes the first read one of 64 KiB, without which the reader would
// stay at its 4 KiB.
func (b *bufioxSource) grow() error {
	if b.warm {
		return nil
	}
	b.warm = true
	_, err := b.r.Peek(64 << 10)
	return err
}

// settle releases the bytes that were read, once the next unit might not fit behind them.
func (b *bufioxSource) settle() error {
	if b.r.ReadLen() <= b.limit {
		return nil
	}
	return b.r.Release(nil)
}

func (b *bufioxSource) end() { b.r.Release(nil) }

var bufioxWay = way{"bufiox", "cloudwego bufiox, Next over 64 KiB, released when little room is left", func(src io.Reader, p place) (walk, func()) {
	w := newBufiox(src, p.s)
	return func(n int) (sum uint64, err error) {
		if err := w.grow(); err != nil {
			return 0, err
		}
		for range n {
			h, err := w.r.Next(frameHead)
			if err != nil {
				return sum, err
			}
			p, err := w.r.Next(int(binary.BigEndian.Uint32(h)))
			if err != nil {
				return sum, err
			}
			sum += mark(p)
			if err := w.settle(); err != nil {
				return sum, err
			}
		}
		return sum, nil
	}, w.end
}}

// releaseEvery is how many frames batchedBufiox reads between two Releases:
// so many of those of the in-memory scenarios fit into 64 KiB by far.
const releaseEvery = 16

// batchedBufiox is the strongest use of bufiox that we know: Release comes
// often, so that the bytes stay in a near cache, and by a count that costs a
// frame nothing. It cannot walk frames of which 16 do not fit into 64 KiB.
var batchedBufiox = way{"bufiox-16", "cloudwego bufiox, Next over 64 KiB, released every 16 frames", func(src io.Reader, p place) (walk, func()) {
	w := newBufiox(src, p.s)
	return func(n int) (sum uint64, err error) {
		if err := w.grow(); err != nil {
			return 0, err
		}
		for ; n > 0; n -= releaseEvery {
			for range min(n, releaseEvery) {
				h, err := w.r.Next(frameHead)
				if err != nil {
					return sum, err
				}
				p, err := w.r.Next(int(binary.BigEndian.Uint32(h)))
				if err != nil {
					return sum, err
				}
				sum += mark(p)
			}
			if err := w.r.Release(nil); err != nil {
				return sum, err
			}
		}
		return sum, nil
	}, w.end
}}

var ourWays = []way{
	{"next", "our BufReader: Next, borrowed", ours(func(r *sluice.BufReader) walk {
		return func(n int) (sum uint64, err error) {
			for range n {
				h, err := r.Next(frameHead)
				if err != nil {
					return sum, err
				}
				p, err := r.Next(int(binary.BigEndian.Uint32(h)))
				if err != nil {
					return sum, err
				}
				sum += mark(p)
			}
			return sum, nil
		}
	})},
	{"range", "our BufReader: the payload by ReadRange, borrowed in pieces", ours(func(r *sluice.BufReader) walk {
		var seen piecewise
		yield := seen.add
		return func(n int) (sum uint64, err error) {
			for range n {
				h, err := r.Next(frameHead)
				if err != nil {
					return sum, err
				}
				seen.n = 0
				if err := r.ReadRange(int(binary.BigEndian.Uint32(h)), yield); err != nil {
					return sum, err
				}
				sum += seen.mark()
			}
			return sum, nil
		}
	})},
	{"readbuf", "our BufReader: the payload by ReadBuf, retained, and Release", ours(func(r *sluice.BufReader) walk {
		return func(n int) (sum uint64, err error) {
			for range n {
				h, err := r.Next(frameHead)
				if err != nil {
					return sum, err
				}
				b, err := r.ReadBuf(int(binary.BigEndian.Uint32(h)))
				if err != nil {
					return sum, err
				}
				sum += mark(b.Bytes())
				b.Release()
			}
			return sum, nil
		}
	})},
}

func ours(open func(*sluice.BufReader) walk) func(io.Reader, place) (walk, func()) {
	return func(src io.Reader, _ place) (walk, func()) {
		r := sluice.NewBufReader(src)
		return open(r), r.Recycle
	}
}
