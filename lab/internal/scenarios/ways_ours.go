package scenarios

import (
	"encoding/binary"
	"io"

	"github.com/sluice-go/sluice"
)

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
