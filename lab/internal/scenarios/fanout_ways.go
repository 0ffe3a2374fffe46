package scenarios

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

type fanOpen func(io.Reader) (walk, func())

type fanWay struct {
	name, about string
	together    func(crowd) fanOpen
	apiece      func(crowd, handing) fanOpen
}

func newFanWay[T any](name, about string, open func(io.Reader) *fan[T]) fanWay {
	return fanWay{
		name, about,
		func(c crowd) fanOpen { return func(src io.Reader) (walk, func()) { return together(open(src), c) } },
		func(c crowd, h handing) fanOpen {
			return func(src io.Reader) (walk, func()) { return apiece(open(src), c, h) }
		},
	}
}

// fanWays are the ways of fan-out: what most servers begin with, the best of the
// standard library, and ours.
var fanWays = []fanWay{
	newFanWay("copy", "a copy for each keeper, as most servers begin", copyFan),
	newFanWay("pool-refcount", "a buffer of a sync.Pool with a reference count, the best of the standard library", pooledFan),
	newFanWay("in-place", "floor: frames followed by hand in one buffer, and an atomic addition for each release", placeFan),
	newFanWay("readbuf", "our BufReader: ReadBuf, shared and released", func(src io.Reader) *fan[mem.Buf] {
		return bufFan(src, mem.New(mem.Options{Name: "fanout"}))
	}),
}

// wideWays are those for many keepers: a copy for each of them is left out,
// which would take most of the time there is.
var wideWays = fanWays[1:]

func frameSize(r *bufio.Reader) (int, error) {
	h, err := r.Peek(frameHead)
	if err != nil {
		return 0, err
	}
	n := int(binary.BigEndian.Uint32(h))
	_, err = r.Discard(frameHead)
	return n, err
}

func copyFan(src io.Reader) *fan[[]byte] {
	r := bufio.NewReaderSize(src, readBuffer)
	return &fan[[]byte]{
		next: func(refs [][]byte) error {
			n, err := frameSize(r)
			if err != nil {
				return err
			}
			p, err := r.Peek(n)
			if err != nil {
				return err
			}
			for i := range refs {
				refs[i] = append([]byte(nil), p...)
			}
			_, err = r.Discard(n)
			return err
		},
		letGo: mark,
		pass: func(keep [][][]byte, at int, refs [][]byte) (sum uint64) {
			for i, ring := range keep {
				sum += mark(ring[at])
				ring[at] = refs[i]
			}
			return sum
		},
		end: func() {},
	}
}

type counted struct {
	refs atomic.Int32
	b    []byte
}

// countedBuffers are for all streams of a process, as a server has them.
var countedBuffers = sync.Pool{New: func() any { return new(counted) }}

func (c *counted) letGo() uint64 {
	m := mark(c.b)
	if c.refs.Add(-1) == 0 {
		countedBuffers.Put(c)
	}
	return m
}

func pooledFan(src io.Reader) *fan[*counted] {
	r := bufio.NewReaderSize(src, readBuffer)
	return &fan[*counted]{
		next: func(refs []*counted) error {
			n, err := frameSize(r)
			if err != nil {
				return err
			}
			c := countedBuffers.Get().(*counted)
			if cap(c.b) < n {
				c.b = make([]byte, n)
			}
			c.b = c.b[:n]
			if _, err := io.ReadFull(r, c.b); err != nil {
				return err
			}
			c.refs.Store(int32(len(refs)))
			for i := range refs {
				refs[i] = c
			}
			return nil
		},
		letGo: (*counted).letGo,
		pass: func(keep [][]*counted, at int, refs []*counted) (sum uint64) {
			for i, ring := range keep {
				c := ring[at]
				ring[at] = refs[i]
				sum += c.letGo()
			}
			return sum
		},
		end: func() {},
	}
}

func bufFan(src io.Reader, a *mem.Allocator) *fan[mem.Buf] {
	r := &sluice.BufReader{Allocator: a}
	r.Reset(src)
	return &fan[mem.Buf]{
		next: func(refs []mem.Buf) error {
			n, err := r.ReadBE32(frameHead)
			if err != nil {
				return err
			}
			return r.ReadBufs(int(n), refs)
		},
		letGo: func(b mem.Buf) uint64 {
			m := mark(b.Bytes())
			b.Release()
			return m
		},
		pass: func(keep [][]mem.Buf, at int, refs []mem.Buf) (sum uint64) {
			for i, ring := range keep {
				sum += mark(ring[at].Bytes())
				ring[at].Release()
				ring[at] = refs[i] //sluice:moved
			}
			return sum
		},
		end: r.Recycle,
	}
}

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
