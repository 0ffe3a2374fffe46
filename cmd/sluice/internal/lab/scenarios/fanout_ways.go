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

// fanWays are the ways of fan-out. Each walk is written out, so that nothing is
// called through an interface between the clock and the work.
var fanWays = []fanWay{
	newFanWay("copy", "a copy for each keeper, as most servers begin", func(src io.Reader, s *stream, _ *mem.Allocator) fanOf[[]byte] {
		return &copyFan{frameSource: newFrameSource(src, s)}
	}),
	newFanWay("shared-gc", "one slice for all keepers, made anew and left to the collector", func(src io.Reader, s *stream, _ *mem.Allocator) fanOf[[]byte] {
		return &sharedFan{frameSource: newFrameSource(src, s)}
	}),
	newFanWay("pool-refcount", "a buffer of a sync.Pool with a reference count, the best of the standard library", func(src io.Reader, s *stream, _ *mem.Allocator) fanOf[*counted] {
		return &countedFan{frameSource: newFrameSource(src, s)}
	}),
	newFanWay("bufiox-mcache", "cloudwego bufiox, copied into a bytedance mcache buffer with a reference count", func(src io.Reader, s *stream, _ *mem.Allocator) fanOf[*counted] {
		return &mcacheFan{bufioxSource: newBufiox(src, s), max: s.max - frameHead}
	}),
	newFanWay("readbuf", "our BufReader: ReadBuf, shared and released", func(src io.Reader, _ *stream, a *mem.Allocator) fanOf[mem.Buf] {
		return newBufFan(src, a)
	}),
}

// readBuffer is the size of the bufio.Reader in front of the pools.
const readBuffer = 64 << 10

// A frameSource reads frames for those who copy them.
type frameSource struct {
	r   *bufio.Reader
	max int // the longest payload
}

func newFrameSource(src io.Reader, s *stream) frameSource {
	return frameSource{bufio.NewReaderSize(src, readBuffer), s.max - frameHead}
}

// size consumes the header and returns the size of the payload.
func (f *frameSource) size() (int, error) {
	h, err := f.r.Peek(frameHead)
	if err != nil {
		return 0, err
	}
	n := int(binary.BigEndian.Uint32(h))
	_, err = f.r.Discard(frameHead)
	return n, err
}

type copyFan struct {
	frameSource
	round[[]byte]
}

func (f *copyFan) next(refs [][]byte) error {
	n, err := f.size()
	if err != nil {
		return err
	}
	p, err := f.r.Peek(n)
	if err != nil {
		return err
	}
	for i := range refs {
		refs[i] = append([]byte(nil), p...)
	}
	_, err = f.r.Discard(n)
	return err
}

func (f *copyFan) letGo(p []byte) uint64 { return mark(p) }

func (f *copyFan) walk(n int) (sum uint64, err error) {
	for range n {
		if err := f.next(f.refs[:]); err != nil {
			return sum, err
		}
		if f.held < keepDepth {
			f.fill()
			continue
		}
		for i := range f.keep {
			sum += f.letGo(f.keep[i].swap(f.refs[i]))
		}
	}
	return sum, nil
}

func (f *copyFan) end()                     { f.empty(f.letGo) }
func (f *copyFan) pinned(held, _ int) int64 { return int64(held)*int64(f.max) + readBuffer }

type sharedFan struct {
	frameSource
	round[[]byte]
}

func (f *sharedFan) next(refs [][]byte) error {
	n, err := f.size()
	if err != nil {
		return err
	}
	p := make([]byte, n)
	if _, err := io.ReadFull(f.r, p); err != nil {
		return err
	}
	for i := range refs {
		refs[i] = p
	}
	return nil
}

func (f *sharedFan) letGo(p []byte) uint64 { return mark(p) }

func (f *sharedFan) walk(n int) (sum uint64, err error) {
	for range n {
		if err := f.next(f.refs[:]); err != nil {
			return sum, err
		}
		if f.held < keepDepth {
			f.fill()
			continue
		}
		for i := range f.keep {
			sum += f.letGo(f.keep[i].swap(f.refs[i]))
		}
	}
	return sum, nil
}

func (f *sharedFan) end() { f.empty(f.letGo) }

func (f *sharedFan) pinned(_, different int) int64 {
	return int64(different)*int64(f.max) + readBuffer
}

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

func (f *countedFan) walk(n int) (sum uint64, err error) {
	for range n {
		if err := f.next(f.refs[:]); err != nil {
			return sum, err
		}
		if f.held < keepDepth {
			f.fill()
			continue
		}
		for i := range f.keep {
			sum += f.letGo(f.keep[i].swap(f.refs[i]))
		}
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

func (f *mcacheFan) walk(n int) (sum uint64, err error) {
	for range n {
		if err := f.next(f.refs[:]); err != nil {
			return sum, err
		}
		if f.held < keepDepth {
			f.fill()
			continue
		}
		for i := range f.keep {
			sum += f.letGo(f.keep[i].swap(f.refs[i]))
		}
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

// bufFan keeps what was read where it was read.
type bufFan struct {
	oneReader
	round[mem.Buf]
}

func newBufFan(src io.Reader, a *mem.Allocator) *bufFan {
	r := &sluice.BufReader{Allocator: a}
	r.Reset(src)
	return &bufFan{oneReader: oneReader{r}}
}

func (f *bufFan) next(refs []mem.Buf) error {
	n, err := f.r.ReadBE32(frameHead)
	if err != nil {
		return err
	}
	b, err := f.r.ReadBuf(int(n))
	if err != nil {
		return err
	}
	b.Share(refs[1:])
	refs[0] = b
	return nil
}

func (f *bufFan) letGo(b mem.Buf) uint64 {
	m := mark(b.Bytes())
	b.Release()
	return m
}

func (f *bufFan) walk(n int) (sum uint64, err error) {
	for range n {
		if err := f.next(f.refs[:]); err != nil {
			return sum, err
		}
		if f.held < keepDepth {
			f.fill()
			continue
		}
		for i := range f.keep {
			sum += f.letGo(f.keep[i].swap(f.refs[i]))
		}
	}
	return sum, nil
}

func (f *bufFan) end() {
	f.empty(f.letGo)
	f.oneReader.end()
}

// pinned counts everything that is checked out, the block that is read into
// with it.
func (f *bufFan) pinned(_, _ int) int64 { return f.r.Allocator.Stats().OutBytes }
