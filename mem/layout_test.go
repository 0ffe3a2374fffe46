package mem

import (
	"runtime"
	"testing"
	"unsafe"
)

// Cells of neighbouring frames must not lie in one cache line, and a cell must
// not lie in two: the sizes are multiples of the line, and of the size classes
// of Go's own allocator, which aligns them then.
func TestCellsLieInCacheLinesOfTheirOwn(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("the layout is for 64 bits")
	}
	if n := unsafe.Sizeof(cell{}); n != 64 {
		t.Errorf("a cell has %d bytes, want 64", n)
	}
	if n := unsafe.Sizeof(block{}); n != 192 {
		t.Errorf("a block's record has %d bytes, want 192", n)
	}
	if n := unsafe.Sizeof(Buf{}); n != 16 {
		t.Errorf("a Buf has %d bytes, want 16", n)
	}
	var cells [8]*cell // of Go's own allocator
	for i := range cells {
		cells[i] = new(cell)
		if uintptr(unsafe.Pointer(cells[i]))%64 != 0 {
			t.Skip("Go aligns nothing to cache lines here, as with -asan, which puts red zones between objects")
		}
	}
	runtime.KeepAlive(&cells)
	a := New(Options{})
	s := a.Slab(4096)
	var held []Buf
	for i := range 40 {
		held = append(held, s.Cut(i, 1))
		if at := uintptr(unsafe.Pointer(held[i].c)); at%64 != 0 {
			t.Fatalf("cell %d is at %#x", i, at)
		}
	}
	s.Release()
	for i := range held {
		held[i].Release()
	}
}
