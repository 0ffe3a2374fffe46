package sluice

import (
	"github.com/sluice-go/sluice/internal/hooks"
	"github.com/sluice-go/sluice/mem"
)

// What waits for a Flush does not come back by itself: the goroutine that would flush may be the
// one that waits for memory. So the budget is notified of it. What is being sent does not count:
// it comes back when the peer has taken it.

var (
	pinned    = hooks.Pinned.(func(a *mem.Allocator, b mem.Buf) int)
	pinnedAll = hooks.PinnedAll.(func(a *mem.Allocator, m *mem.Memory) int)
)

// asks reports whether the allocator has a budget.
func (b *BufWriter) asks() bool {
	limit, _ := budget(b.alloc)
	return limit > 0
}

// most returns how many bytes may wait.
func (b *BufWriter) most() int {
	if _, pressed := budget(b.alloc); pressed {
		return min(b.bound, pressedBound)
	}
	return b.bound
}

// hold counts n more bytes of capacity that wait for a Flush, up to 1 GiB.
func (b *BufWriter) hold(n int) {
	if n = min(n, 1<<30-int(b.held)); n > 0 {
		b.held += int32(n)
		noteKept(b.alloc, n)
	}
}

// unhold takes n bytes of that back.
func (b *BufWriter) unhold(n int) {
	if n = min(n, int(b.held)); n > 0 {
		b.held -= int32(n)
		noteKept(b.alloc, -n)
	}
}

// unholdAll takes all of it back.
func (b *BufWriter) unholdAll() { b.unhold(int(b.held)) }

// holdBlock counts the block for small writes.
func (b *BufWriter) holdBlock() {
	if b.asks() {
		b.hold(len(b.slab.Bytes()))
	}
}

// addBuf adds p, transferred, to what waits.
func (b *BufWriter) addBuf(p mem.Buf) {
	if b.asks() {
		b.hold(pinned(b.alloc, p))
	}
	b.waiting.addBuf(p) //sluice:moved
}

// addMemory adds m, transferred, to what waits.
func (b *BufWriter) addMemory(m *mem.Memory) {
	if b.asks() {
		b.hold(pinnedAll(b.alloc, m))
	}
	b.waiting.addMemory(m)
}
