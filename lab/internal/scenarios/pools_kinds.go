package scenarios

import (
	"sync"

	"github.com/bytedance/gopkg/lang/mcache"
	libp2p "github.com/libp2p/go-buffer-pool"
	"github.com/valyala/bytebufferpool"

	"github.com/sluice-go/sluice/bytepool"
	"github.com/sluice-go/sluice/mem"
)

// poolKinds are all pools, the baseline first, then ours.
var poolKinds = []poolKind{
	{"sync.Pool", "a sync.Pool of pointers to slices", 0, func(size int) poolWork {
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
	memKind("mem", "mem: Get and Release of a counted Buf", 0),
	memKind("mem+budget", "the same with a budget that is never reached", 1<<30),
	{"malloc", "mem: Malloc and Free of a plain slice", 0, func(size int) poolWork {
		a := mem.New(mem.Options{Name: "bench"})
		free := func(b []byte) {
			if err := a.Free(b); err != nil {
				panic(err) // what Malloc gave cannot be refused
			}
		}
		return pool(size, func(n int) (sum uint64) {
			for i := range n {
				b := a.Malloc(size)
				touch(b, i)
				sum += ends(b)
				free(b)
			}
			return sum
		}, touched(func() []byte { return a.Malloc(size) }), ended(free))
	}},
	{"BytePool", "bytepool.BytePool", 0, func(size int) poolWork {
		p := bytepool.NewBytePool(size, size)
		return pool(size, func(n int) (sum uint64) {
			for i := range n {
				b := p.Get()
				touch(b, i)
				sum += ends(b)
				p.Put(b)
			}
			return sum
		}, touched(p.Get), ended(func(b []byte) { p.Put(b) }))
	}},
	{"mcache", "bytedance mcache", 0, func(size int) poolWork {
		return pool(size, func(n int) (sum uint64) {
			for i := range n {
				b := mcache.Malloc(size)
				touch(b, i)
				sum += ends(b)
				mcache.Free(b)
			}
			return sum
		}, touched(func() []byte { return mcache.Malloc(size) }), ended(mcache.Free))
	}},
	{"bytebufferpool", "valyala bytebufferpool, the buffer grown to size when it comes smaller", 0, func(size int) poolWork {
		p := new(bytebufferpool.Pool)
		get := func() *bytebufferpool.ByteBuffer {
			b := p.Get()
			if cap(b.B) < size {
				b.B = make([]byte, size)
			}
			b.B = b.B[:size]
			return b
		}
		return pool(size, func(n int) (sum uint64) {
			for i := range n {
				b := get()
				touch(b.B, i)
				sum += ends(b.B)
				p.Put(b)
			}
			return sum
		}, func(i int) *bytebufferpool.ByteBuffer {
			b := get()
			touch(b.B, i)
			return b
		}, func(b *bytebufferpool.ByteBuffer) uint64 {
			sum := ends(b.B)
			p.Put(b)
			return sum
		})
	}},
	{"libp2p", "libp2p go-buffer-pool", 0, func(size int) poolWork {
		p := new(libp2p.BufferPool)
		return pool(size, func(n int) (sum uint64) {
			for i := range n {
				b := p.Get(size)
				touch(b, i)
				sum += ends(b)
				p.Put(b)
			}
			return sum
		}, touched(func() []byte { return p.Get(size) }), ended(p.Put))
	}},
	{"channel", "a buffered channel of slices, made anew when it is empty and dropped when it is full", 0, func(size int) poolWork {
		c := make(chan []byte, 256)
		get := func() []byte {
			select {
			case b := <-c:
				return b
			default:
				return make([]byte, size)
			}
		}
		put := func(b []byte) {
			select {
			case c <- b:
			default:
			}
		}
		return pool(size, func(n int) (sum uint64) {
			for i := range n {
				b := get()
				touch(b, i)
				sum += ends(b)
				put(b)
			}
			return sum
		}, touched(get), ended(put))
	}},
	// A large make is cleared byte by byte: the round would take a hundred
	// times as long as the others and say no more than the small sizes do.
	{"make", "make and the collector (sizes up to 4 KiB)", 4 << 10, func(size int) poolWork {
		return pool(size, func(n int) (sum uint64) {
			for i := range n {
				b := make([]byte, size)
				touch(b, i)
				sum += ends(b)
			}
			return sum
		}, touched(func() []byte { return make([]byte, size) }), ends)
	}},
}

// touched is the get of a pool of slices, ended its put.
func touched(get func() []byte) func(int) []byte {
	return func(i int) []byte {
		b := get()
		touch(b, i)
		return b
	}
}

func ended(put func([]byte)) func([]byte) uint64 {
	return func(b []byte) uint64 {
		sum := ends(b)
		put(b)
		return sum
	}
}

// memKind is a counted Buf of an allocator with a budget; 0 is none.
func memKind(name, about string, budget int64) poolKind {
	return poolKind{name, about, 0, func(size int) poolWork {
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
