package scenarios

import (
	"bufio"
	"encoding/binary"
	"io"

	"github.com/sluice-go/sluice/mem"
)

// fanWays are the ways of fan-out. Each walk is written out, so that nothing is
// called through an interface between the clock and the work.
var fanWays = []fanWay{
	newFanWay("copy", "a copy for each keeper, as most servers begin", func(src io.Reader, s *stream, _ *mem.Allocator, c crowd) fanOf[[]byte] {
		return &copyFan{newFrameSource(src, s), newRound[[]byte](c)}
	}),
	newFanWay("shared-gc", "one slice for all keepers, made anew and left to the collector", func(src io.Reader, s *stream, _ *mem.Allocator, c crowd) fanOf[[]byte] {
		return &sharedFan{newFrameSource(src, s), newRound[[]byte](c)}
	}),
	newFanWay("pool-refcount", "a buffer of a sync.Pool with a reference count, the best of the standard library", func(src io.Reader, s *stream, _ *mem.Allocator, c crowd) fanOf[*counted] {
		return &countedFan{newFrameSource(src, s), newRound[*counted](c)}
	}),
	newFanWay("bufiox-mcache", "cloudwego bufiox, copied into a bytedance mcache buffer with a reference count", func(src io.Reader, s *stream, _ *mem.Allocator, c crowd) fanOf[*counted] {
		return &mcacheFan{newBufiox(src, s), newRound[*counted](c), s.max - frameHead}
	}),
	newFanWay("readbuf", "our BufReader: ReadBuf, shared and released", func(src io.Reader, _ *stream, a *mem.Allocator, c crowd) fanOf[mem.Buf] {
		return newBufFan(src, a, c)
	}),
}

// wideWays are those for many keepers: a copy for each of them is left out,
// which would take most of the time there is.
var wideWays = fanWays[1:]

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

func (f *copyFan) pass(keep []keeper[[]byte], refs [][]byte) (sum uint64) {
	for i := range keep {
		sum += f.letGo(keep[i].swap(refs[i]))
	}
	return sum
}

func (f *copyFan) walk(n int) (sum uint64, err error) {
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

func (f *sharedFan) pass(keep []keeper[[]byte], refs [][]byte) (sum uint64) {
	for i := range keep {
		sum += f.letGo(keep[i].swap(refs[i]))
	}
	return sum
}

func (f *sharedFan) walk(n int) (sum uint64, err error) {
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

func (f *sharedFan) end() { f.empty(f.letGo) }

func (f *sharedFan) pinned(_, different int) int64 {
	return int64(different)*int64(f.max) + readBuffer
}
