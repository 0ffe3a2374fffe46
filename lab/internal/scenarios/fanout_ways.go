package scenarios

import (
	"bufio"
	"encoding/binary"
	"io"
	"sync"
	"sync/atomic"

	"github.com/bytedance/gopkg/lang/mcache"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// fanWays are the ways of fan-out.
var fanWays = []fanWay{
	newFanWay("copy", "a copy for each keeper, as most servers begin", func(src io.Reader, s *stream, _ *mem.Allocator) *fan[[]byte] {
		return sliceFan(src, s, func(r *bufio.Reader, n int, refs [][]byte) error {
			p, err := r.Peek(n)
			if err != nil {
				return err
			}
			for i := range refs {
				refs[i] = append([]byte(nil), p...)
			}
			_, err = r.Discard(n)
			return err
		}, func(held, _ int) int { return held })
	}),
	newFanWay("shared-gc", "one slice for all keepers, made anew and left to the collector", func(src io.Reader, s *stream, _ *mem.Allocator) *fan[[]byte] {
		return sliceFan(src, s, func(r *bufio.Reader, n int, refs [][]byte) error {
			p := make([]byte, n)
			for i := range refs {
				refs[i] = p
			}
			_, err := io.ReadFull(r, p)
			return err
		}, func(_, different int) int { return different })
	}),
	newFanWay("pool-refcount", "a buffer of a sync.Pool with a reference count, the best of the standard library", pooledFan),
	newFanWay("bufiox-mcache", "cloudwego bufiox, copied into a bytedance mcache buffer with a reference count", mcacheFan),
	newFanWay("readbuf", "our BufReader: ReadBuf, shared and released", bufFan),
}

// wideWays are those for many keepers: a copy for each of them is left out,
// which would take most of the time there is.
var wideWays = fanWays[1:]

// readBuffer is the size of the bufio.Reader in front of the pools.
const readBuffer = 64 << 10

// frameSize consumes a header and returns the size of the payload.
func frameSize(r *bufio.Reader) (int, error) {
	h, err := r.Peek(frameHead)
	if err != nil {
		return 0, err
	}
	n := int(binary.BigEndian.Uint32(h))
	_, err = r.Discard(frameHead)
	return n, err
}

// sliceFan leaves memory to the collector.
func sliceFan(src io.Reader, s *stream, read func(r *bufio.Reader, n int, refs [][]byte) error, kept func(held, different int) int) *fan[[]byte] {
	r := bufio.NewReaderSize(src, readBuffer)
	return &fan[[]byte]{
		next: func(refs [][]byte) error {
			n, err := frameSize(r)
			if err != nil {
				return err
			}
			return read(r, n, refs)
		},
		letGo: mark,
		pass: func(keep [][][]byte, at int, refs [][]byte) (sum uint64) {
			for i, ring := range keep {
				sum += mark(ring[at])
				ring[at] = refs[i]
			}
			return sum
		},
		pinned: func(held, different int) int64 { return int64(kept(held, different))*int64(s.max) + readBuffer },
		end:    func() {},
	}
}

// counted is a buffer that goes back to its pool with the last reference.
type counted struct {
	refs atomic.Int32
	b    []byte
}

// share gives a reference to each.
func (c *counted) share(refs []*counted) {
	c.refs.Store(int32(len(refs)))
	for i := range refs {
		refs[i] = c
	}
}

// The pools are for all streams of a process, as a server has them.
var (
	countedBuffers = sync.Pool{New: func() any { return new(counted) }}
	countsAlone    = sync.Pool{New: func() any { return new(counted) }}
)

func letPooledGo(c *counted) uint64 {
	m := mark(c.b)
	if c.refs.Add(-1) == 0 {
		countedBuffers.Put(c)
	}
	return m
}

func pooledFan(src io.Reader, s *stream, _ *mem.Allocator) *fan[*counted] {
	r := bufio.NewReaderSize(src, readBuffer)
	return &fan[*counted]{
		next: func(refs []*counted) error {
			n, err := frameSize(r)
			if err != nil {
				return err
			}
			c := countedBuffers.Get().(*counted)
			if cap(c.b) < n {
				c.b = make([]byte, n, roundUp(n))
			}
			c.b = c.b[:n]
			if _, err := io.ReadFull(r, c.b); err != nil {
				return err
			}
			c.share(refs)
			return nil
		},
		letGo: letPooledGo,
		pass: func(keep [][]*counted, at int, refs []*counted) (sum uint64) {
			for i, ring := range keep {
				c := ring[at]
				ring[at] = refs[i]
				sum += letPooledGo(c)
			}
			return sum
		},
		pinned: func(_, different int) int64 { return int64(different)*int64(s.max) + readBuffer },
		end:    func() {},
	}
}

func letCachedGo(c *counted) uint64 {
	m := mark(c.b)
	if c.refs.Add(-1) == 0 {
		mcache.Free(c.b)
		c.b = nil
		countsAlone.Put(c)
	}
	return m
}

func mcacheFan(src io.Reader, s *stream, _ *mem.Allocator) *fan[*counted] {
	w := newBufiox(src, s)
	return &fan[*counted]{
		next: func(refs []*counted) error {
			if err := w.grow(); err != nil {
				return err
			}
			h, err := w.r.Next(frameHead)
			if err != nil {
				return err
			}
			p, err := w.r.Next(int(binary.BigEndian.Uint32(h)))
			if err != nil {
				return err
			}
			c := countsAlone.Get().(*counted)
			c.b = mcache.Malloc(len(p))
			copy(c.b, p)
			c.share(refs)
			return w.settle()
		},
		letGo: letCachedGo,
		pass: func(keep [][]*counted, at int, refs []*counted) (sum uint64) {
			for i, ring := range keep {
				c := ring[at]
				ring[at] = refs[i]
				sum += letCachedGo(c)
			}
			return sum
		},
		pinned: func(_, different int) int64 { return int64(different)*int64(s.max) + readBuffer },
		end:    w.end,
	}
}

// bufFan keeps what was read where it was read.
func bufFan(src io.Reader, _ *stream, a *mem.Allocator) *fan[mem.Buf] {
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
		// Everything that is checked out, the block that is read into with it.
		pinned: func(_, _ int) int64 { return a.Stats().OutBytes },
		end:    r.Recycle,
	}
}
