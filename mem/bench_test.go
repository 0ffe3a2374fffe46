package mem

import (
	"math/bits"
	"sync"
	"testing"
)

var pools [numClasses]sync.Pool

func poolGet(n int) *[]byte {
	c := bits.Len(uint(n-1) >> minShift)
	p, _ := pools[c].Get().(*[]byte)
	if p == nil {
		x := make([]byte, minClass<<c)
		p = &x
	}
	*p = (*p)[:n]
	return p
}

func poolPut(p *[]byte) { pools[bits.Len(uint(cap(*p)-1)>>minShift)].Put(p) }

func BenchmarkGetRelease(b *testing.B) {
	b.Run("pool-fixed", func(b *testing.B) {
		p := sync.Pool{New: func() any { x := make([]byte, 4096); return &x }}
		for b.Loop() {
			x := p.Get().(*[]byte)
			y := (*x)[:4000]
			y[0], y[3999] = 1, 1
			p.Put(x)
		}
	})
	b.Run("pool", func(b *testing.B) {
		for b.Loop() {
			x := poolGet(4000)
			y := *x
			y[0], y[3999] = 1, 1
			poolPut(x)
		}
	})
	run := func(a *Allocator) func(b *testing.B) {
		return func(b *testing.B) {
			for b.Loop() {
				x := a.Get(4000)
				y := x.Bytes()
				y[0], y[3999] = 1, 1
				x.Release()
			}
		}
	}
	b.Run("mem", run(New(Options{})))
	b.Run("budget", run(New(Options{Budget: 1 << 20})))
	b.Run("sample", run(New(Options{Leak: LeakSample})))
	b.Run("malloc", func(b *testing.B) {
		a := New(Options{})
		for b.Loop() {
			y := a.Malloc(4000)
			y[0], y[3999] = 1, 1
			a.Free(y)
		}
	})
	b.Run("fanout", func(b *testing.B) {
		a := New(Options{})
		s := a.Slab(4096)
		var k [3]Buf
		for b.Loop() {
			x := s.Cut(100, 200)
			x.Share(k[:2])
			x.Release()
			k[0].Release()
			k[1].Release()
		}
	})
}
