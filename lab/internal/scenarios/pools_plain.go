package scenarios

import (
	"sync"

	"github.com/bytedance/gopkg/lang/mcache"
	pool "github.com/libp2p/go-buffer-pool"
	"github.com/valyala/bytebufferpool"
)

// plainPools are the pools that are known without us, the baseline first.
var plainPools = []poolKind{
	{name: "sync.Pool", about: "a sync.Pool of pointers to slices", ready: func(size int) poolWork {
		return &pointerPool{sync.Pool{New: func() any { b := make([]byte, size); return &b }}}
	}},
	{name: "mcache", about: "bytedance mcache", ready: func(size int) poolWork { return mcachePool(size) }},
	{name: "bytebufferpool", about: "valyala bytebufferpool, the buffer grown to size when it comes smaller", ready: func(size int) poolWork {
		return &valyalaPool{size: size}
	}},
	{name: "libp2p", about: "libp2p go-buffer-pool", ready: func(size int) poolWork { return &libp2pPool{size: size} }},
	{name: "channel", about: "a buffered channel of slices, made anew when it is empty and dropped when it is full", ready: func(size int) poolWork {
		return &channelPool{make(chan []byte, 256), size}
	}},
	// A large make is cleared byte by byte: the round would take a hundred
	// times as long as the others and say no more than the small sizes do.
	{name: "make", about: "make and the collector (sizes up to 4 KiB)", most: 4 << 10, ready: func(size int) poolWork {
		return &makePool{size: size}
	}},
}

type pointerPool struct{ p sync.Pool }

func (w *pointerPool) pair(n int) (sum uint64) {
	for i := range n {
		b := w.p.Get().(*[]byte)
		touch(*b, i)
		sum += ends(*b)
		w.p.Put(b)
	}
	return sum
}

func (w *pointerPool) batches(size int) *handover {
	return inBatches(size, func(batch []*[]byte, i int) {
		for k := range batch {
			b := w.p.Get().(*[]byte)
			touch(*b, i+k)
			batch[k] = b
		}
	}, func(batch []*[]byte) (sum uint64) {
		for _, b := range batch {
			sum += ends(*b)
			w.p.Put(b)
		}
		return sum
	})
}

type mcachePool int

func (w mcachePool) pair(n int) (sum uint64) {
	for i := range n {
		b := mcache.Malloc(int(w))
		touch(b, i)
		sum += ends(b)
		mcache.Free(b)
	}
	return sum
}

func (w mcachePool) batches(size int) *handover {
	return inBatches(size, func(batch [][]byte, i int) {
		for k := range batch {
			b := mcache.Malloc(int(w))
			touch(b, i+k)
			batch[k] = b
		}
	}, func(batch [][]byte) (sum uint64) {
		for _, b := range batch {
			sum += ends(b)
			mcache.Free(b)
		}
		return sum
	})
}

type valyalaPool struct {
	p    bytebufferpool.Pool
	size int
}

func (w *valyalaPool) get() *bytebufferpool.ByteBuffer {
	b := w.p.Get()
	if cap(b.B) < w.size {
		b.B = make([]byte, w.size)
	}
	b.B = b.B[:w.size]
	return b
}

func (w *valyalaPool) pair(n int) (sum uint64) {
	for i := range n {
		b := w.get()
		touch(b.B, i)
		sum += ends(b.B)
		w.p.Put(b)
	}
	return sum
}

func (w *valyalaPool) batches(size int) *handover {
	return inBatches(size, func(batch []*bytebufferpool.ByteBuffer, i int) {
		for k := range batch {
			b := w.get()
			touch(b.B, i+k)
			batch[k] = b
		}
	}, func(batch []*bytebufferpool.ByteBuffer) (sum uint64) {
		for _, b := range batch {
			sum += ends(b.B)
			w.p.Put(b)
		}
		return sum
	})
}

type libp2pPool struct {
	p    pool.BufferPool
	size int
}

func (w *libp2pPool) pair(n int) (sum uint64) {
	for i := range n {
		b := w.p.Get(w.size)
		touch(b, i)
		sum += ends(b)
		w.p.Put(b)
	}
	return sum
}

func (w *libp2pPool) batches(size int) *handover {
	return inBatches(size, func(batch [][]byte, i int) {
		for k := range batch {
			b := w.p.Get(w.size)
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

type channelPool struct {
	c    chan []byte
	size int
}

func (w *channelPool) get() []byte {
	select {
	case b := <-w.c:
		return b
	default:
		return make([]byte, w.size)
	}
}

func (w *channelPool) put(b []byte) {
	select {
	case w.c <- b:
	default:
	}
}

func (w *channelPool) pair(n int) (sum uint64) {
	for i := range n {
		b := w.get()
		touch(b, i)
		sum += ends(b)
		w.put(b)
	}
	return sum
}

func (w *channelPool) batches(size int) *handover {
	return inBatches(size, func(batch [][]byte, i int) {
		for k := range batch {
			b := w.get()
			touch(b, i+k)
			batch[k] = b
		}
	}, func(batch [][]byte) (sum uint64) {
		for _, b := range batch {
			sum += ends(b)
			w.put(b)
		}
		return sum
	})
}

type makePool struct{ size int }

func (w *makePool) pair(n int) (sum uint64) {
	for i := range n {
		b := make([]byte, w.size)
		touch(b, i)
		sum += ends(b)
	}
	return sum
}

func (w *makePool) batches(size int) *handover {
	return inBatches(size, func(batch [][]byte, i int) {
		for k := range batch {
			b := make([]byte, w.size)
			touch(b, i+k)
			batch[k] = b
		}
	}, func(batch [][]byte) (sum uint64) {
		for k, b := range batch {
			sum += ends(b)
			batch[k] = nil
		}
		return sum
	})
}
