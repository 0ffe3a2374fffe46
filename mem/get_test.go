package mem_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/sluice-go/sluice/mem"
)

func TestGetHasTheLengthAndTheClassThatWasAskedFor(t *testing.T) {
	a := mem.New(mem.Options{})
	for _, c := range []struct{ n, size int }{
		{0, 256}, {1, 256}, {255, 256}, {256, 256}, {257, 512}, {512, 512}, {513, 1024},
		{4096, 4096}, {65535, 65536}, {65537, 131072}, {1<<22 - 1, 1 << 22}, {1 << 22, 1 << 22},
		{1<<22 + 1, 1<<22 + 1}, {5_000_001, 5_000_001},
	} {
		b := a.Get(c.n)
		if b.Len() != c.n || len(b.Bytes()) != c.n || b.BlockSize() != c.size || a.Cap(c.n) != c.size {
			t.Errorf("Get(%d): length %d in a block of %d, Cap says %d, want %d", c.n, b.Len(), b.BlockSize(), a.Cap(c.n), c.size)
		}
		if p := b.Bytes(); c.n > 0 {
			p[0], p[c.n-1] = 1, 2
		}
		b.Release()
		if b, err := a.TryGet(c.n); err != nil || b.Len() != c.n {
			t.Errorf("TryGet(%d): %v", c.n, err)
		} else {
			b.Release()
		}
	}
	if n := a.Stats().CheckedOut; n != 0 {
		t.Errorf("%d blocks are out", n)
	}
}

func TestSizesThatCannotBePanicWithTheNumbers(t *testing.T) {
	sizes := []int{-1, math.MinInt}
	if strconv.IntSize == 64 {
		var most int64 = math.MaxUint32
		sizes = append(sizes, int(most)+1, math.MaxInt)
	}
	for _, o := range []mem.Options{{}, {Budget: 1 << 20}} {
		a := mem.New(o)
		for _, n := range sizes {
			want := "(" + strconv.Itoa(n) + "): sizes are 0 to "
			mustPanic(t, "Get", func() { a.Get(n) }, "mem: Allocator.Get"+want)
			mustPanic(t, "TryGet", func() { a.TryGet(n) }, "mem: Allocator.TryGet"+want)
			mustPanic(t, "GetContext", func() { a.GetContext(t.Context(), n) }, "mem: Allocator.GetContext"+want)
			mustPanic(t, "Cap", func() { a.Cap(n) }, "mem: Allocator.Cap"+want)
			mustPanic(t, "Malloc", func() { a.Malloc(n) }, "mem: Allocator.Malloc"+want)
			mustPanic(t, "Read", func() { a.Read(nil, n) }, "mem: Allocator.Read"+want)
			mustPanic(t, "Slab", func() { a.Slab(n) }, "mem: Allocator.Slab"+want)
			mustPanic(t, "TrySlab", func() { a.TrySlab(n) }, "mem: Allocator.TrySlab"+want)
		}
		if s := a.Stats(); s.CheckedOut != 0 || s.Budget.Charged != 0 {
			t.Errorf("refused sizes left %+v", s)
		}
	}
	mustPanic(t, "a negative budget", func() { mem.New(mem.Options{Budget: -1}) }, "mem: New: budget -1")
	mustPanic(t, "an unknown level", func() { mem.New(mem.Options{Leak: 4}) }, "mem: SetLeak(4)")
}

func TestDefaultIsOneAllocator(t *testing.T) {
	first, second := mem.Default(), mem.Default()
	if first != second || first.Stats().Name != "default" {
		t.Errorf("Default is %q, or not one", first.Stats().Name)
	}
}
