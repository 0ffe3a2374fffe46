package scenarios

import (
	"slices"

	"github.com/sluice-go/sluice/bytepool"
	"github.com/sluice-go/sluice/mem"
)

// ourPools are the pools of this project.
var ourPools = []poolKind{
	{name: "mem", about: "mem: Get and Release of a counted Buf", ready: func(size int) poolWork {
		return &memPool{mem.New(mem.Options{Name: "bench"}), size}
	}},
	{name: "mem+budget", about: "the same with a budget that is never reached", ready: func(size int) poolWork {
		return &memPool{mem.New(mem.Options{Name: "bench", Budget: 1 << 30}), size}
	}},
	{name: "malloc", about: "mem: Malloc and Free of a plain slice", ready: func(size int) poolWork {
		return &mallocPool{mem.New(mem.Options{Name: "bench"}), size}
	}},
	{name: "BytePool", about: "bytepool.BytePool", ready: func(size int) poolWork {
		return &bytePool{bytepool.NewBytePool(size, size)}
	}},
}

// poolKinds are all pools, the baseline first.
var poolKinds = slices.Concat(plainPools[:1], ourPools, plainPools[1:])

type memPool struct {
	a    *mem.Allocator
	size int
}

func (w *memPool) pair(n int) (sum uint64) {
	for i := range n {
		b := w.a.Get(w.size)
		p := b.Bytes()
		touch(p, i)
		sum += ends(p)
		b.Release()
	}
	return sum
}

func (w *memPool) batches(size int) *handover {
	return inBatches(size, func(batch []mem.Buf, i int) {
		for k := range batch {
			b := w.a.Get(w.size)
			touch(b.Bytes(), i+k)
			batch[k] = b
		}
	}, func(batch []mem.Buf) (sum uint64) {
		for k := range batch {
			sum += ends(batch[k].Bytes())
			batch[k].Release()
		}
		return sum
	})
}

type bytePool struct{ p *bytepool.BytePool }

func (w *bytePool) pair(n int) (sum uint64) {
	for i := range n {
		b := w.p.Get()
		touch(b, i)
		sum += ends(b)
		w.p.Put(b)
	}
	return sum
}

func (w *bytePool) batches(size int) *handover {
	return inBatches(size, func(batch [][]byte, i int) {
		for k := range batch {
			b := w.p.Get()
			touch(b, i+k)
			batch[k] = b
		}
	}, func(batch [][]byte) (sum uint64) {
		for _, b := range batch {
			sum += ends(b)
			w.p.Put(b)
		}
		return sum
	})
}

type mallocPool struct {
	a    *mem.Allocator
	size int
}

// free gives back what malloc gave, which cannot be refused.
func (w *mallocPool) free(b []byte) {
	if err := w.a.Free(b); err != nil {
		panic(err)
	}
}

func (w *mallocPool) pair(n int) (sum uint64) {
	for i := range n {
		b := w.a.Malloc(w.size)
		touch(b, i)
		sum += ends(b)
		w.free(b)
	}
	return sum
}

func (w *mallocPool) batches(size int) *handover {
	return inBatches(size, func(batch [][]byte, i int) {
		for k := range batch {
			b := w.a.Malloc(w.size)
			touch(b, i+k)
			batch[k] = b
		}
	}, func(batch [][]byte) (sum uint64) {
		for _, b := range batch {
			sum += ends(b)
			w.free(b)
		}
		return sum
	})
}
