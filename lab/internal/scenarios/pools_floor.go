package scenarios

import (
	"sync"
	"sync/atomic"
)

// handOver is the floor of every pool: what using a buffer and passing it to another
// goroutine cost without one. Buffers are used again in the order in which they
// come back, which only this benchmark makes sure of.
var handOver = poolKind{"no-pool", "floor of every pool: the same buffers again and again, without a pool", func(size int) poolWork {
	// More than are under way between two goroutines, see pool.
	buffers := make([][]byte, (acrossBatches+1)*acrossBatch(size))
	for i := range buffers {
		buffers[i] = make([]byte, size)
	}
	return pool(size, func(n int) (sum uint64) {
		b := make([]byte, size) // of this goroutine alone
		for i := range n {
			touch(b, i)
			sum += ends(b)
		}
		return sum
	}, func(i int) []byte {
		b := buffers[i%len(buffers)]
		touch(b, i)
		return b
	}, ends)
}}

// countedFloor is the floor of counted memory over a sync.Pool: it adds the one
// compare-and-swap by which the last holder is found out.
var countedFloor = poolKind{"pool-cas", "floor of counted memory: a sync.Pool of pointers, and one compare-and-swap for each release", func(size int) poolWork {
	type block struct {
		word atomic.Uint64
		b    []byte
	}
	p := &sync.Pool{New: func() any { return &block{b: make([]byte, size)} }}
	return pool(size, func(n int) (sum uint64) {
		for i := range n {
			k := p.Get().(*block)
			touch(k.b, i)
			sum += ends(k.b)
			if w := k.word.Load(); k.word.CompareAndSwap(w, w+1) {
				p.Put(k)
			}
		}
		return sum
	}, func(i int) *block {
		k := p.Get().(*block)
		touch(k.b, i)
		return k
	}, func(k *block) uint64 {
		sum := ends(k.b)
		if w := k.word.Load(); k.word.CompareAndSwap(w, w+1) {
			p.Put(k)
		}
		return sum
	})
}}
