package mem

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"unsafe"
	"weak"
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
	base   uintptr
	memory weak.Pointer[byte] // what was at base when it was recorded
	block  *block
	n      int           // bytes handed out
	state  atomic.Uint32 // sliceIdle or sliceOut
}

const (
	sliceIdle = iota
	sliceOut
)

// Malloc returns n bytes, transferred to the caller, who gives them back with
// Free or leaves them to the collector. They are not cleared. The capacity is
// the size class's. It is for code that is written around plain slices: a Buf
// costs less and can be shared.
func (a *Allocator) Malloc(n int) []byte {
	b := a.Get(n).c.block
	if b.slice == nil {
		a.slices.record(b)
	}
	if len(b.more) > 0 {
		b.dropCells(0) // they point at the memory
	}
	r, data := b.slice, b.data
	r.n, r.block, b.data, b.own.data = n, b, nil, nil
	r.state.Store(sliceOut)
	return data[:n]
}

// record makes b's memory known by its address.
func (s *slices) record(b *block) {
	first := unsafe.SliceData(b.data)
	r := &slice{base: uintptr(unsafe.Pointer(first)), memory: weak.Make(first)}
	b.slice = r
	s.shard(r.base).add(r)
	runtime.AddCleanup(first, func(r *slice) { s.shard(r.base).remove(r) }, r)
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
	// The collector may have given forgotten memory's address to others, and
	// the cleanup not have run yet.
	if r == nil || r.memory.Value() != data {
		return ErrNotAllocated
	}
	if r.state.Load() == sliceOut && len(p) < r.n {
		return fmt.Errorf("%w: %d of %d bytes", ErrNotAllocated, len(p), r.n)
	}
	if !r.state.CompareAndSwap(sliceOut, sliceIdle) {
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
		r.block.endTrack()
		r.block.home.retire(r.block.gauge, true)
		r.block = nil
	}
	a.Trim()
}
