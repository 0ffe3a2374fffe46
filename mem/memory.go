package mem

import (
	"fmt"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/invariant"
)

// Memory is an ordered list of Bufs that is handed on as one: a frame that
// lies in two blocks, a header and its payload. Its holder calls Release
// once. The zero Memory is empty and ready for Append.
//
// Size and Buffers are read-only for callers. In particular do not pass Buffers
// to net.Buffers.WriteTo, which consumes its argument: use Memory.WriteTo.
//
// A Memory belongs to one goroutine at a time, with one exception: the read-only
// methods (Bytes, CopyTo, NewReader, Retain, RetainedSlice, WriteTo) may run at
// once while no goroutine appends, compacts, clips or releases. To compact, clip or
// release under a WriteTo panics: its writer has the bytes.
// For a second holder there is Retain. Every method of a released Memory
// panics. A Memory must not be copied.
type Memory struct {
	Size    int      // bytes in all parts together
	Buffers [][]byte // the parts, none of them empty, borrowed until Release, Compact or ClipFront

	bufs     []Buf // bufs[i] holds Buffers[i]
	released bool
	writing  atomic.Int32 // calls of WriteTo under way

	// The first part lies in the Memory itself, so that a Memory of one Buf
	// is one allocation of 112 bytes.
	_     noCopy
	buf1  [1]Buf
	part1 [1][]byte
}

// noCopy makes go vet report copies: Buffers of a copy would lie in the
// original.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// NewMemory returns a Memory of bufs, transferred, in their order.
func NewMemory(bufs ...Buf) *Memory {
	m := new(Memory)
	if len(bufs) > 1 {
		m.grow(len(bufs))
	}
	for i := range bufs {
		m.Append(bufs[i])
	}
	return m
}

// grow makes room for n more parts outside the Memory.
func (m *Memory) grow(n int) {
	m.bufs = append(make([]Buf, 0, len(m.bufs)+n), m.bufs...)
	m.Buffers = append(make([][]byte, 0, len(m.Buffers)+n), m.Buffers...)
}

// Append adds b, transferred, at the end. A Buf of no bytes is released and
// leaves no part.
func (m *Memory) Append(b Buf) {
	m.live("Append")
	if invariant.Enabled && len(m.bufs) > 0 {
		m.checkPart("Append", len(m.bufs)-1)
	}
	p := b.Bytes()
	if len(p) == 0 {
		b.Release()
		return
	}
	if m.Size+len(p) < 0 {
		panic(fmt.Sprintf("mem: Memory.Append: %d bytes and %d more are too many for an int", m.Size, len(p)))
	}
	switch {
	case m.bufs == nil:
		m.bufs, m.Buffers = m.buf1[:0], m.part1[:0]
	case len(m.bufs) == cap(m.bufs):
		m.grow(max(3, len(m.bufs)))
	}
	m.bufs = append(m.bufs, b)
	m.Buffers = append(m.Buffers, p)
	m.Size += len(p)
}

// AppendMemory adds the parts of o, transferred, at the end, and copies none: o is released
// then. A Memory cannot be added to itself; add what its Retain returns.
func (m *Memory) AppendMemory(o *Memory) {
	m.live("AppendMemory")
	if o == nil {
		panic("mem: Memory.AppendMemory(nil)")
	}
	if o == m {
		panic("mem: Memory.AppendMemory of the Memory itself")
	}
	o.intact("AppendMemory")
	o.unwritten("AppendMemory")
	if m.Size+o.Size < 0 {
		panic(fmt.Sprintf("mem: Memory.AppendMemory: %d bytes and %d more are too many for an int", m.Size, o.Size))
	}
	if n := len(o.bufs); len(m.bufs)+n > max(cap(m.bufs), 1) {
		m.grow(max(n, len(m.bufs)))
	}
	for i := range o.bufs {
		m.Append(o.bufs[i]) //sluice:moved
		o.bufs[i] = Buf{}
	}
	o.Size, o.Buffers, o.bufs = 0, nil, nil
	o.Release()
}

// Release releases all Bufs and empties the Memory, also when a function given
// to Wrap panics. A second Release panics.
func (m *Memory) Release() {
	m.intact("Release")
	m.unwritten("Release")
	m.released = true
	bufs := m.bufs
	m.Size, m.Buffers, m.bufs = 0, nil, nil
	m.part1[0] = nil
	releaseAll(bufs)
}

// releaseAll releases bufs. When a release panics, as a function given to Wrap
// may, the rest is released before the panic goes on.
func releaseAll(bufs []Buf) {
	i := 0
	defer func() {
		if i < len(bufs) {
			releaseAll(bufs[i+1:])
		}
	}()
	for ; i < len(bufs); i++ {
		bufs[i].Release()
	}
}

// Retain returns a second Memory of the same bytes, retained. It shares the
// bytes and nothing else: what is appended to one is not in the other.
func (m *Memory) Retain() *Memory {
	m.intact("Retain")
	return m.slice(0, m.Size)
}

// RetainedSlice returns bytes i up to j as a Memory of its own, retained. It
// keeps the whole blocks that those bytes lie in: see Compact.
func (m *Memory) RetainedSlice(i, j int) *Memory {
	m.live("RetainedSlice")
	if uint(i) > uint(j) || uint(j) > uint(m.Size) {
		panic(fmt.Sprintf("mem: Memory.RetainedSlice(%d, %d) of %d bytes", i, j, m.Size))
	}
	return m.slice(i, j)
}

func (m *Memory) slice(i, j int) *Memory {
	s := new(Memory)
	for k := 0; i < j; k++ {
		n := len(m.Buffers[k])
		if i >= n {
			i, j = i-n, j-n
			continue
		}
		end := min(j, n)
		if i == 0 && end == n {
			s.Append(m.bufs[k].Retain())
		} else {
			s.Append(m.bufs[k].RetainedSlice(i, end))
		}
		i, j = 0, j-n
	}
	return s
}

// Bytes returns all bytes in one slice, to be read only and borrowed until m
// is released. It is the part itself when there is one, and otherwise a new
// slice that is allocated and copied: it never fails to be contiguous, and is
// free only where m already was.
func (m *Memory) Bytes() []byte {
	m.intact("Bytes")
	switch len(m.Buffers) {
	case 0:
		return nil
	case 1:
		return m.Buffers[0]
	}
	p := make([]byte, 0, m.Size)
	for _, q := range m.Buffers {
		p = append(p, q...)
	}
	return p
}

// CopyTo copies bytes from the front into p, as many as fit, and returns how
// many.
func (m *Memory) CopyTo(p []byte) int {
	m.live("CopyTo")
	n := 0
	for _, q := range m.Buffers {
		if n == len(p) {
			break
		}
		n += copy(p[n:], q)
	}
	return n
}

// NewReader returns a reader over the bytes that are in m now. It borrows
// them: m must outlive its last call.
func (m *Memory) NewReader() MemoryReader {
	m.live("NewReader")
	return MemoryReader{Length: m.Size, m: m}
}

// runsFree is Buf.runsFree for any part.
func (m *Memory) runsFree() bool {
	for i := range m.bufs {
		if m.bufs[i].runsFree() {
			return true
		}
	}
	return false
}

func (m *Memory) live(op string) {
	if m.released {
		panicMemory(op)
	}
}

// intact is live for calls that look at every part anyway, and checks them all.
func (m *Memory) intact(op string) {
	m.live(op)
	if invariant.Enabled {
		size := 0
		for i := range m.bufs {
			m.checkPart(op, i)
			size += len(m.Buffers[i])
		}
		invariant.Check(size == m.Size, "mem: Memory of %d bytes says %d", size, m.Size)
	}
}

func (m *Memory) checkPart(op string, i int) {
	m.bufs[i].live("Memory." + op)
	invariant.Check(len(m.bufs[i].c.data) == len(m.Buffers[i]), "mem: part %d of a Memory has %d bytes, its Buf %d", i, len(m.Buffers[i]), len(m.bufs[i].c.data))
}

// unwritten panics when a writer has the bytes, which then must stay.
func (m *Memory) unwritten(op string) {
	if m.writing.Load() != 0 {
		panicWriting(op)
	}
}

//go:noinline
func panicWriting(op string) {
	panic("mem: Memory." + op + " during a WriteTo of the same Memory")
}

//go:noinline
func panicMemory(op string) {
	panic("mem: Memory." + op + ": the Memory was released")
}
