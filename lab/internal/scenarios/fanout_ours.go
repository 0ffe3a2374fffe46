package scenarios

import (
	"io"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// bufFan keeps what was read where it was read.
type bufFan struct {
	oneReader
	round[mem.Buf]
}

func newBufFan(src io.Reader, a *mem.Allocator, c crowd) *bufFan {
	r := &sluice.BufReader{Allocator: a}
	r.Reset(src)
	return &bufFan{oneReader{r}, newRound[mem.Buf](c)}
}

// readFor reads the next n bytes for as many holders as refs has room for.
func readFor(r *sluice.BufReader, n int, refs []mem.Buf) error {
	return r.ReadBufs(n, refs)
}

func (f *bufFan) next(refs []mem.Buf) error {
	n, err := f.r.ReadBE32(frameHead)
	if err != nil {
		return err
	}
	return readFor(f.r, int(n), refs)
}

func (f *bufFan) letGo(b mem.Buf) uint64 {
	m := mark(b.Bytes())
	b.Release()
	return m
}

func (f *bufFan) pass(keep []keeper[mem.Buf], refs []mem.Buf) (sum uint64) {
	for i := range keep {
		sum += f.letGo(keep[i].swap(refs[i]))
	}
	return sum
}

func (f *bufFan) walk(n int) (sum uint64, err error) {
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

func (f *bufFan) end() {
	f.empty(f.letGo)
	f.oneReader.end()
}

// pinned counts everything that is checked out, the block that is read into
// with it.
func (f *bufFan) pinned(_, _ int) int64 { return f.r.Allocator.Stats().OutBytes }
