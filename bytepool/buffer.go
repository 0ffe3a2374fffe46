package bytepool

import (
	"bytes"
	"sync"

	"github.com/sluice-go/sluice/internal/invariant"
)

// A BufferPool keeps *bytes.Buffer in a sync.Pool, but only buffers whose
// capacity is in its range: a buffer that was huge once would pin that memory
// for good, while later owners write a few hundred bytes.
type BufferPool struct {
	pool sync.Pool
	size int
	cap  int
	made bool
}

// NewBufferPool returns a pool of buffers that have room for at least size
// bytes when they are got, and that are kept as long as they have not grown
// beyond capacity bytes. Buffers grow in leaps, to more than twice their
// capacity, so leave room between the two: with size equal to capacity each
// buffer that grew at all is dropped. It panics when size is larger than
// capacity or one of them is negative.
func NewBufferPool(size, capacity int) *BufferPool {
	checkSizes("NewBufferPool", size, capacity)
	return &BufferPool{size: size, cap: capacity, made: true}
}

// Get transfers an empty buffer with room for at least the pool's size to the
// caller.
func (p *BufferPool) Get() *bytes.Buffer {
	b, _ := p.pool.Get().(*bytes.Buffer)
	if b == nil {
		if !p.made {
			panic("bytepool: BufferPool that NewBufferPool has not made")
		}
		return bytes.NewBuffer(make([]byte, 0, p.size))
	}
	// Here rather than in Put: whatever was done to it since, it is empty now.
	b.Reset()
	if invariant.Enabled {
		leave("BufferPool", b.AvailableBuffer())
	}
	return b
}

// Put transfers b to the pool and reports whether the pool took it. A buffer
// with room for less than the pool's size or more than its capacity is refused
// and left to the collector; so is nil. What b.Bytes, b.Next and
// b.AvailableBuffer returned was borrowed until Put. A second Put of the same
// buffer cannot be detected, and hands it to two owners.
func (p *BufferPool) Put(b *bytes.Buffer) bool {
	if b == nil || b.Cap() < p.size || b.Cap() > p.cap {
		return false
	}
	if invariant.Enabled {
		b.Reset()
		enter("BufferPool", b.AvailableBuffer())
	}
	p.pool.Put(b)
	return true
}
