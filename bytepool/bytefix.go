package bytepool

import (
	"fmt"

	"github.com/sluice-go/sluice/internal/invariant"
)

// A ByteFixPool keeps at most a fixed number of slices of one capacity, in a
// channel. No call of it ever waits. Unlike a sync.Pool it is not emptied by
// the collector: what it once took stays, cacheSize times capacity bytes at
// most, until the pool itself is dropped. All processors share the one
// channel, so under contention it costs several times a BytePool.
type ByteFixPool struct {
	idle chan []byte
	size int
	cap  int
	kept int
}

// NewByteFixPool returns a pool that keeps up to cacheSize slices of length
// size and the given capacity in bytes. It panics when size is larger than
// capacity, a number is negative, capacity is above 1 TiB or cacheSize above
// 1<<27. With a cacheSize or a capacity of 0 nothing is kept.
func NewByteFixPool(cacheSize, size, capacity int) *ByteFixPool {
	checkSizes("NewByteFixPool", size, capacity)
	if cacheSize < 0 || cacheSize > maxCache {
		panic(fmt.Sprintf("bytepool: NewByteFixPool: cache of %d slices, 0 to %d are possible", cacheSize, maxCache))
	}
	return &ByteFixPool{idle: make(chan []byte, cacheSize), size: size, cap: capacity, kept: keptCapacity(capacity)}
}

// Get transfers a slice of exactly the pool's size and capacity to the
// caller: one that was put back, if there is one, else a new one. Its
// contents are not zeroed: an earlier owner's bytes may be in it.
func (p *ByteFixPool) Get() []byte {
	select {
	case b := <-p.idle:
		if invariant.Enabled {
			leave("ByteFixPool", b)
		}
		return b
	default:
		if p.idle == nil {
			panic("bytepool: ByteFixPool that NewByteFixPool has not made")
		}
		b := make([]byte, p.size, p.cap)
		if invariant.Enabled {
			stale(b)
		}
		return b
	}
}

// Put transfers b to the pool and reports whether the pool kept it. It is
// left to the collector when the pool is full, and refused when its capacity
// is not the pool's, by the same rules as in [BytePool.Put]. A second Put
// of the same slice cannot be detected, and hands it to two owners.
func (p *ByteFixPool) Put(b []byte) bool {
	if cap(b) != p.kept {
		return false
	}
	// Before the send: after it the slice may already have another owner.
	if invariant.Enabled {
		enter("ByteFixPool", b)
	}
	select {
	case p.idle <- b[:p.size]:
		return true
	default:
		return false
	}
}
