package mem

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"unsafe"
	"weak"
)

// ErrNotAllocated is what Free returns for a slice that does not begin where
// one that Malloc has out begins: freed already, foreign, or a later part.
var ErrNotAllocated = errors.New("mem: slice is not one that Malloc has out")

// ErrPartialFree is what Free returns for a slice that begins right and is
// shorter than what was allocated: the rest may be in use.
var ErrPartialFree = errors.New("mem: slice is only a part of what Malloc gave")

// slices knows which blocks are out as plain slices, by their address. The
// memory of such a block is held by its user alone, so that the collector
// takes what was never freed; the cleanup on the memory then drops the entry.
type slices struct {
	shards [sliceShards]struct {
		mu  sync.Mutex
		out map[uintptr]slice
		_   [48]byte
	}
}

const sliceShards = 16

type slice struct {
	buf Buf // its block has no data while the slice is out
	n   int
}

func (s *slices) init() {
	for i := range s.shards {
		s.shards[i].out = make(map[uintptr]slice)
	}
}

func (s *slices) shard(base uintptr) int { return int(base>>minShift^base>>16) % sliceShards }

// Malloc returns n bytes, transferred to the caller, who gives them back with
// Free or leaves them to the collector. They are not cleared. The capacity is
// the size class's. It is for code that is written around plain slices: a Buf
// costs less and can be shared.
func (a *Allocator) Malloc(n int) []byte {
	buf := a.Get(n)
	b := buf.b
	data := b.data
	base := unsafe.Pointer(unsafe.SliceData(data))
	if b.memory == (weak.Pointer[byte]{}) {
		b.memory = weak.Make(&data[0])
		runtime.AddCleanup(&data[0], forgetSlice, forgotten{a, uintptr(base), b.gauge})
	}
	b.data = nil
	sh := &a.slices.shards[a.slices.shard(uintptr(base))]
	sh.mu.Lock()
	sh.out[uintptr(base)] = slice{buf, n}
	sh.mu.Unlock()
	return data[:n]
}

type forgotten struct {
	a     *Allocator
	base  uintptr
	gauge *gauge
}

func forgetSlice(f forgotten) {
	sh := &f.a.slices.shards[f.a.slices.shard(f.base)]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if s, ok := sh.out[f.base]; ok && s.buf.b.gauge == f.gauge {
		delete(sh.out, f.base)
	}
}

// Free takes back what Malloc or Read gave, transferred. The slice must begin
// where it began and be no shorter. What is refused is still the caller's:
// the error matches ErrNotAllocated, also for what was freed already, or
// ErrPartialFree.
func (a *Allocator) Free(p []byte) error {
	if cap(p) == 0 {
		return ErrNotAllocated
	}
	data := unsafe.SliceData(p)
	base := uintptr(unsafe.Pointer(data))
	sh := &a.slices.shards[a.slices.shard(base)]
	sh.mu.Lock()
	s, ok := sh.out[base]
	// The collector may have given forgotten memory's address to others, and
	// the cleanup not have run yet.
	if !ok || s.buf.b.memory.Value() != data {
		sh.mu.Unlock()
		return ErrNotAllocated
	}
	if len(p) < s.n {
		sh.mu.Unlock()
		return fmt.Errorf("%w: %d of %d bytes", ErrPartialFree, len(p), s.n)
	}
	delete(sh.out, base)
	sh.mu.Unlock()
	s.buf.b.data = unsafe.Slice(data, s.buf.b.gauge.size)
	s.buf.Release()
	return nil
}

// Read reads once from r into memory of n bytes, and returns what was read,
// transferred like Malloc's. It returns nil when nothing was; bytes that come
// with an error are returned with it.
func (a *Allocator) Read(r io.Reader, n int) ([]byte, error) {
	p := a.Malloc(n)
	m, err := r.Read(p)
	if m < 0 || m > n {
		panic(fmt.Sprintf("mem: Allocator.Read: reader returned %d of %d bytes", m, n))
	}
	if m == 0 {
		if ferr := a.Free(p); ferr != nil {
			return nil, errors.Join(err, ferr)
		}
		return nil, err
	}
	base := uintptr(unsafe.Pointer(unsafe.SliceData(p)))
	sh := &a.slices.shards[a.slices.shard(base)]
	sh.mu.Lock()
	if s, ok := sh.out[base]; ok { // not recycled meanwhile
		s.n = m
		sh.out[base] = s //sluice:moved
	}
	sh.mu.Unlock()
	return p[:m], err
}

// Recycle ends the use of a as a source of slices: it forgets every slice
// that was not freed, leaving their memory to the collector once nobody uses
// it, and gives cached memory back. Freeing such a slice later is refused.
// Bufs are not touched, and a can be used on.
func (a *Allocator) Recycle() {
	for i := range a.slices.shards {
		sh := &a.slices.shards[i]
		sh.mu.Lock()
		out := sh.out
		sh.out = make(map[uintptr]slice)
		sh.mu.Unlock()
		for _, s := range out {
			s.buf.b.endTrack()
			s.buf.b.home.retire(s.buf.b.gauge, true)
		}
	}
	a.Trim()
}
