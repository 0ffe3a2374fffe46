package scenarios

import (
	"encoding/binary"
	"errors"
	"io"
	"sync/atomic"
)

const readBuffer = 64 << 10

const (
	// floorRoom is the memory that frames are read into, in bytes. It is more than all
	// keepers together keep of them.
	floorRoom = 1 << 20
	// floorFrames is how many frames have a count at the same time: more than fit into
	// floorRoom.
	floorFrames = 1 << 10
)

type inPlace struct {
	refs int32 // set while one goroutine knows the frame, then changed atomically
	b    []byte
	_    [32]byte // to a cache line
}

// placeFan is the least that a frame costs that several keep: the source's copy, a plain
// store by the one goroutine that knows the frame yet, and an atomic operation for each
// release. Memory and counts are used again in the order of the frames, so that
// it needs no pool, and knows of a frame that is still held only that this is a bug.
func placeFan(src io.Reader) *fan[*inPlace] {
	room, frames := make([]byte, floorRoom), make([]inPlace, floorFrames)
	r, w, next := 0, 0, 0 // room[r:w] has been read and not handed on
	fill := func() error {
		if len(room)-w < 2*readBuffer {
			w = copy(room, room[r:w])
			r = 0
		}
		n, err := src.Read(room[w : w+readBuffer])
		w += n
		return err
	}
	return &fan[*inPlace]{
		next: func(refs []*inPlace) error {
			for w-r < frameHead {
				if err := fill(); err != nil {
					return err
				}
			}
			size := frameHead + int(binary.BigEndian.Uint32(room[r:]))
			for w-r < size {
				if err := fill(); err != nil {
					return err
				}
			}
			f := &frames[next%floorFrames]
			next++
			if f.refs != 0 {
				return errors.New("scenarios: the floor has no room for a frame")
			}
			f.b = room[r+frameHead : r+size]
			r += size
			f.refs = int32(len(refs))
			for i := range refs {
				refs[i] = f
			}
			return nil
		},
		letGo: (*inPlace).letGo,
		pass: func(keep [][]*inPlace, at int, refs []*inPlace) (sum uint64) {
			for i, ring := range keep {
				f := ring[at]
				ring[at] = refs[i]
				sum += f.letGo()
			}
			return sum
		},
		end: func() {},
	}
}

func (f *inPlace) letGo() uint64 {
	m := mark(f.b)
	atomic.AddInt32(&f.refs, -1)
	return m
}
