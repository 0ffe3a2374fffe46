package scenarios

import (
	"encoding/binary"
	"io"
	"sync"
	"sync/atomic"

	"github.com/bytedance/gopkg/lang/mcache"
)

// counted is a buffer that goes back to its pool with the last reference.
type counted struct {
	refs atomic.Int32
	b    []byte
}

// The pools are for all streams of a process, as a server has them.
var (
	countedBuffers = sync.Pool{New: func() any { return new(counted) }}
	countsAlone    = sync.Pool{New: func() any { return new(counted) }}
)

type countedFan struct {
	frameSource
	round[*counted]
}

func (f *countedFan) next(refs []*counted) error {
	n, err := f.size()
	if err != nil {
		return err
	}
	c := countedBuffers.Get().(*counted)
	if cap(c.b) < n {
		c.b = make([]byte, n, roundUp(n))
	}
	c.b = c.b[:n]
	if _, err := io.ReadFull(f.r, c.b); err != nil {
		return err
	}
	c.refs.Store(int32(len(refs)))
	for i := range refs {
		refs[i] = c
	}
	return nil
}

func (f *countedFan) letGo(c *counted) uint64 {
	m := mark(c.b)
	if c.refs.Add(-1) == 0 {
		countedBuffers.Put(c)
	}
	return m
}

func (f *countedFan) pass(keep []keeper[*counted], refs []*counted) (sum uint64) {
	for i := range keep {
		sum += f.letGo(keep[i].swap(refs[i]))
	}
	return sum
}

func (f *countedFan) walk(n int) (sum uint64, err error) {
	for range n {
		if err := f.next(f.refs); err != nil {
			return sum, err
		}
		if f.filling() {
			f.fill()
			continue
		}
		sum += f.pass(f.keep, f.refs)
	}
	return sum, nil
}

func (f *countedFan) end() { f.empty(f.letGo) }

func (f *countedFan) pinned(_, different int) int64 {
	return int64(different)*int64(f.max) + readBuffer
}

// mcacheFan reads with bufiox and keeps in buffers of mcache.
type mcacheFan struct {
	bufioxSource
	round[*counted]
	max int // the longest payload
}

func (f *mcacheFan) next(refs []*counted) error {
	if !f.warm {
		if err := f.grow(); err != nil {
			return err
		}
	}
	h, err := f.r.Next(frameHead)
	if err != nil {
		return err
	}
	p, err := f.r.Next(int(binary.BigEndian.Uint32(h)))
	if err != nil {
		return err
	}
	c := countsAlone.Get().(*counted)
	c.b = mcache.Malloc(len(p))
	copy(c.b, p)
	c.refs.Store(int32(len(refs)))
	for i := range refs {
		refs[i] = c
	}
	return f.settle()
}

func (f *mcacheFan) letGo(c *counted) uint64 {
	m := mark(c.b)
	if c.refs.Add(-1) == 0 {
		mcache.Free(c.b)
		c.b = nil
		countsAlone.Put(c)
	}
	return m
}

func (f *mcacheFan) pass(keep []keeper[*counted], refs []*counted) (sum uint64) {
	for i := range keep {
		sum += f.letGo(keep[i].swap(refs[i]))
	}
	return sum
}

func (f *mcacheFan) walk(n int) (sum uint64, err error) {
	for range n {
		if err := f.next(f.refs); err != nil {
			return sum, err
		}
		if f.filling() {
			f.fill()
			continue
		}
		sum += f.pass(f.keep, f.refs)
	}
	return sum, nil
}

func (f *mcacheFan) end() {
	f.empty(f.letGo)
	f.bufioxSource.end()
}

func (f *mcacheFan) pinned(_, different int) int64 {
	return int64(different)*int64(f.max) + readBuffer
}
