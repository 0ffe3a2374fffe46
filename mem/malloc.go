package mem

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"unsafe"
	"weak"

	"github.com/sluice-go/sluice/internal/sys"
)

// ErrNotAllocated is what Free returns for a slice that does not begin where
// one that Malloc has out begins (freed already, foreign, or a later part), or
// is shorter than what was allocated: the rest may be in use.
var ErrNotAllocated = errors.New("mem: slice is not one that Malloc has out")

// A slice is the record of memory that Malloc has handed out at least once. It
// is found by the memory's address for as long as the memory lives, so that in
// steady state neither Malloc nor Free changes the table. While the slice is
// out its block has no data: the memory is held by its user alone, and the
// collector takes what was never freed.
type slice struct {
	base  uintptr
	gauge *gauge
	block *block // while it is out
	n     int    // bytes handed out
	state uint32 // sliceIdle or sliceOut: see Malloc
}

const (
	sliceIdle = iota
	sliceOut
)

// Malloc returns n bytes, transferred to the caller, who gives them back with
// Free or leaves them to the collector. They are not cleared. The capacity is
// the size class's; what n may be and the budget are as with Get. It is for code that
// is written around plain slices: a Buf costs less and can be shared.
func (a *Allocator) Malloc(n int) []byte {
	a.checkSize("Malloc", n)
	b := a.Get(n).c.block
	if b.slice == nil {
		a.slices.record(b)
	}
	if len(b.more) > 0 {
		b.dropCells(0) // they point at the memory
	}
	r, data := b.slice, b.data
	r.n, r.block, b.data, b.own.data = n, b, nil, nil
	if b.track == nil {
		// Free is called with what the caller was given, after it; a Recycle at
		// the same time may miss it, and uses the gauge only.
		sys.StoreRelaxed(&r.state, sliceOut)
	} else {
		atomic.StoreUint32(&r.state, sliceOut)
	}
	return data[:n]
}

// record makes b's memory known by its address.
func (s *slices) record(b *block) {
	first := unsafe.SliceData(b.data)
	r := &slice{base: uintptr(unsafe.Pointer(first)), gauge: b.gauge}
	b.slice = r
	s.shard(r.base).add(r)
	// The memory lives until its finalizer has run: what is found at an address
	// is of the memory that is there. References are weak for the reason that
	// gauge.class is.
	table, record := weak.Make(s), weak.Make(r)
	runtime.SetFinalizer(first, func(*byte) {
		if s, r := table.Value(), record.Value(); s != nil && r != nil {
			s.shard(r.base).remove(r)
		}
	})
}

// Free takes back what Malloc or Read gave, transferred. The slice must begin
// where it began and be no shorter. What is refused is still the caller's:
// the error matches ErrNotAllocated.
func (a *Allocator) Free(p []byte) error {
	if cap(p) == 0 {
		return ErrNotAllocated
	}
	data := unsafe.SliceData(p)
	r := a.slices.find(uintptr(unsafe.Pointer(data)))
	if r == nil {
		return ErrNotAllocated
	}
	if atomic.LoadUint32(&r.state) == sliceOut && len(p) < r.n {
		return fmt.Errorf("%w: %d of %d bytes", ErrNotAllocated, len(p), r.n)
	}
	if !atomic.CompareAndSwapUint32(&r.state, sliceOut, sliceIdle) {
		return ErrNotAllocated
	}
	b := r.block
	r.block = nil
	b.data = unsafe.Slice(data, b.gauge.size)
	b.endWhole()
	return nil
}

// Read reads once from r into memory of n bytes, and returns what was read,
// transferred like Malloc's. It returns nil when nothing was; bytes that come
// with an error are returned with it. When r panics the memory is given back.
func (a *Allocator) Read(r io.Reader, n int) ([]byte, error) {
	a.checkSize("Read", n)
	if r == nil {
		panic("mem: Allocator.Read(nil)")
	}
	p := a.Malloc(n)
	kept := false
	defer func() { // also when the reader panics
		if !kept {
			_ = a.Free(p)
		}
	}()
	m, err := r.Read(p)
	if m < 0 || m > n {
		panic(fmt.Sprintf("mem: Allocator.Read: reader returned %d of %d bytes", m, n))
	}
	if m == 0 {
		return nil, err
	}
	kept = true
	if s := a.slices.find(uintptr(unsafe.Pointer(unsafe.SliceData(p)))); s != nil {
		s.n = m
	}
	return p[:m], err
}

// Recycle ends the use of a as a source of slices: it forgets every slice
// that was not freed, leaving their memory to the collector once it is
// unreachable, and gives cached memory back. Freeing such a slice later is refused.
// Bufs are not touched, and a can be used on.
func (a *Allocator) Recycle() {
	for _, r := range a.slices.takeOut() {
		if b := r.block; b != nil {
			b.endTrack()
		}
		r.gauge.class.Value().retire(r.gauge, true)
	}
	a.Trim()
}
