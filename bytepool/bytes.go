package bytepool

import (
	"sync"

	"github.com/sluice-go/sluice/internal/invariant"
)

// A BytePool keeps slices of one capacity in a sync.Pool. A Get that is
// followed by a Put allocates nothing, not even a slice header, unless the
// collector emptied the pool in between.
type BytePool struct {
	pool sync.Pool
	size int
	cap  int
	kept int
}

// NewBytePool returns a pool of slices of length size and the given capacity,
// both in bytes. It panics when size is larger than capacity or one of them
// is negative. With a capacity of 0 there is nothing to pool: Get returns
// empty slices and Put refuses.
func NewBytePool(size, capacity int) *BytePool {
	checkSizes("NewBytePool", size, capacity)
	p := &BytePool{size: size, cap: capacity, kept: keptCapacity(capacity)}
	p.pool.New = func() any {
		b := make([]byte, size, capacity)
		if invariant.Enabled {
			fill(b[:capacity], inside)
		}
		return box(b)
	}
	return p
}

// Get transfers a slice of exactly the pool's size and capacity to the
// caller. Its contents are not zeroed: an earlier owner's bytes may be in it.
func (p *BytePool) Get() []byte {
	b := unbox(p.pool.Get(), p.size, p.cap)
	if invariant.Enabled {
		leave("BytePool", b)
	}
	return b
}

// Put transfers b to the pool and reports whether the pool took it. A slice of
// another capacity than the pool's is refused and left to the collector: so
// are nil, slices that append moved to a larger array, and b[i:] for any i but
// 0, while b[:n] is welcome. A refusal every time means that the pool does
// nothing; its capacity is too small, or the wrong slice comes back.
//
// The length does not matter. Put cannot see where a slice came from: it takes
// one that was made elsewhere if the capacity fits. The slice must be ordinary
// Go memory, not a mapping that may be unmapped. A second Put of the same slice
// cannot be detected, and hands it to two owners.
func (p *BytePool) Put(b []byte) bool {
	if cap(b) != p.kept {
		return false
	}
	if invariant.Enabled {
		enter("BytePool", b)
	}
	p.pool.Put(box(b))
	return true
}
