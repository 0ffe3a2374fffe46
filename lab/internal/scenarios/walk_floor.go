package scenarios

import (
	"encoding/binary"
	"io"
	"sync/atomic"
)

// floorWays are the least that reading frames can cost: the lengths are
// followed by hand in a buffer that is filled from the source, without a call
// for a frame, a limit or an error that says where. A reader's calls come on top.
var floorWays = []way{
	{"in-place", "floor of a borrowed frame: lengths followed by hand in a buffer of 64 KiB", func(src io.Reader, _ place) walk {
		return &placeFrames{src: src, buf: make([]byte, 64<<10)}
	}},
	{"in-place-cas", "floor of a kept frame: the same, and one compare-and-swap for its release", func(src io.Reader, _ place) walk {
		return &placeFrames{src: src, buf: make([]byte, 64<<10), counted: true}
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
