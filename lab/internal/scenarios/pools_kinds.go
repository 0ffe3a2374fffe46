package scenarios

import (
	"sync"

	"github.com/sluice-go/sluice/bytepool"
	"github.com/sluice-go/sluice/mem"
)

// poolKinds are all pools, the baseline first, then the floors, then ours.
var poolKinds = []poolKind{
	{"sync.Pool", "a sync.Pool of pointers to slices", func(size int) poolWork {
		p := &sync.Pool{New: func() any { b := make([]byte, size); return &b }}
		return pool(size, func(n int) (sum uint64) {
			for i := range n {
				b := p.Get().(*[]byte)
				touch(*b, i)
				sum += ends(*b)
				p.Put(b)
			}
			return sum
		}, func(i int) *[]byte {
			b := p.Get().(*[]byte)
			touch(*b, i)
			return b
		}, func(b *[]byte) uint64 {
			sum := ends(*b)
			p.Put(b)
			return sum
		})
	}},
	handOver, countedFloor,
	memKind("mem", "mem: Get and Release of a counted Buf", 0),
	memKind("mem+budget", "the same with a budget that is never reached", 1<<30),
	{"malloc", "mem: Malloc and Free of a plain slice", func(size int) poolWork {
		a := mem.New(mem.Options{Name: "bench"})
		const refused = "scenarios: Free refused what Malloc gave"
		return pool(size, func(n int) (sum uint64) {
			for i := range n {
				b := a.Malloc(size)
				touch(b, i)
				sum += ends(b)
				if a.Free(b) != nil {
					panic(refused)
				}
			}
			return sum
		}, func(i int) []byte {
			b := a.Malloc(size)
			touch(b, i)
			return b
		}, func(b []byte) uint64 {
			sum := ends(b)
			if a.Free(b) != nil {
				panic(refused)
			}
			return sum
		})
	}},
	{"BytePool", "bytepool.BytePool", func(size int) poolWork {
		p := bytepool.NewBytePool(size, size)
		return pool(size, func(n int) (sum uint64) {
			for i := range n {
				b := p.Get()
				touch(b, i)
				sum += ends(b)
				p.Put(b)
			}
			return sum
		}, func(i int) []byte {
			b := p.Get()
			touch(b, i)
			return b
		}, func(b []byte) uint64 {
			sum := ends(b)
			p.Put(b)
			return sum
		})
	}},
}

// memKind is a counted Buf of an allocator with a budget; 0 is none. It is not
// inlined: in closures that the compiler copies into the package's large
// initialization it calls Bytes, touch and ends, which it inlines elsewhere.
//
//go:noinline
func memKind(name, about string, budget int64) poolKind {
	return poolKind{name, about, func(size int) poolWork {
		a := mem.New(mem.Options{Name: "bench", Budget: budget})
		return pool(size, func(n int) (sum uint64) {
			for i := range n {
				b := a.Get(size)
				p := b.Bytes()
				touch(p, i)
				sum += ends(p)
				b.Release()
			}
			return sum
		}, func(i int) mem.Buf {
			b := a.Get(size)
			touch(b.Bytes(), i)
			return b
		}, func(b mem.Buf) uint64 {
			sum := ends(b.Bytes())
			b.Release()
			return sum
		})
	}}
}
