package scenarios

import (
	"encoding/binary"
	"io"

	"github.com/sluice-go/sluice"
)

// ourWays are our ways to read units.
var ourWays = []way{
	{"next", "our BufReader: Next, borrowed", ours(next)},
	{"range", "our BufReader: the payload by ReadRange, borrowed in pieces", ours(func(r *sluice.BufReader, f format) walk {
		var seen piecewise
		yield := seen.add
		return func(n int) (sum uint64, err error) {
			for range n {
				h, err := r.Next(f.head)
				if err != nil {
					return sum, err
				}
				k, m := f.begin(h)
				seen.n = 0
				if err := r.ReadRange(k, yield); err != nil {
					return sum, err
				}
				sum += m + seen.mark()
				if f.tail > 0 {
					v, err := r.ReadBE32(f.tail)
					if err != nil {
						return sum, err
					}
					sum += uint64(v)
				}
			}
			return sum, nil
		}
	})},
	{"readbuf", "our BufReader: the payload by ReadBuf, retained, and Release", ours(func(r *sluice.BufReader, f format) walk {
		return func(n int) (sum uint64, err error) {
			for range n {
				h, err := r.Next(f.head)
				if err != nil {
					return sum, err
				}
				k, m := f.begin(h)
				b, err := r.ReadBuf(k + f.tail)
				if err != nil {
					return sum, err
				}
				sum += m + f.end(b.Bytes(), k)
				b.Release()
			}
			return sum, nil
		}
	})},
}

// ours opens a walk with a BufReader, which is recycled at its end.
func ours(open func(*sluice.BufReader, format) walk) func(io.Reader, place) (walk, func()) {
	return func(src io.Reader, p place) (walk, func()) {
		r := sluice.NewBufReader(src)
		return open(r, p.s.format), r.Recycle
	}
}

func next(r *sluice.BufReader, f format) walk {
	if f == framed { // the same, of constants
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
	}
	return func(n int) (sum uint64, err error) {
		for range n {
			k, m := f.fixed, uint64(0)
			if f.head > 0 {
				h, err := r.Next(f.head)
				if err != nil {
					return sum, err
				}
				k, m = f.begin(h)
			}
			p, err := r.Next(k + f.tail)
			if err != nil {
				return sum, err
			}
			sum += m + f.end(p, k)
		}
		return sum, nil
	}
}
