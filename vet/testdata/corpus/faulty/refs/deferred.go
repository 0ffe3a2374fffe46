package refs

import (
	"github.com/sluice-go/sluice/mem"
)

func deferredOfAnother(a *mem.Allocator, n int) int {
	b, c := a.Get(n), a.Get(n)
	defer b.Release()
	c.Release()
	c = a.Get(n + 1) // want `is not released`
	return c.Len()
}

func deferredAndOverwritten(a *mem.Allocator, n int) int {
	b := a.Get(n)
	defer b.Release()
	b.Release()
	b = a.Get(n + 1) // want `is not released`
	b = a.Get(n + 2)
	return b.Len()
}

func deferredAndReleased(a *mem.Allocator, n int) int {
	b := a.Get(n)
	defer b.Release() // want `released twice`
	b.Release()
	b = a.Get(n + 1)
	n = b.Len()
	b.Release()
	return n
}
