package scenarios

import (
	"encoding/binary"
	"io"

	"github.com/cloudwego/gopkg/bufiox"
)

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
