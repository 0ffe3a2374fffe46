package mem

import (
	"sync/atomic"
	"weak"

	"github.com/sluice-go/sluice/internal/sys"
)

// A gauge is the accounting record of one block. It outlives the block, so that
// the figures are right after the collector took it. The goroutine that owns
// the block at the moment writes took and freed without a fence;
// others load them, and see a checkout or its end a moment late at most.
type gauge struct {
	took  uint32 // number of the latest checkout: how many there were
	freed uint32 // number of the latest checkout that ended
	// charged says that the block's capacity is counted against the budget.
	// An idle block stays charged until its room is needed.
	charged atomic.Uint32
	cut     atomic.Uint32 // checkout in which a small view was cut
	loose   atomic.Uint32 // checkout in which the filler let go and views stayed

	size int
	// class is weak, because the cleanup of the block refers to the gauge: nothing may
	// lead from there to the pool, in which the block may be. Go's checkfinalizers looks
	// for that.
	class weak.Pointer[class]
	// asleep says that the gauge is in the ring asleep, which the budget does not
	// look at.
	asleep     atomic.Bool
	prev, next *gauge // ring of the class; nil when retired
}

// join and leave are called with the class's mu held.
func (g *gauge) join(ring *gauge) {
	g.prev, g.next = ring.prev, ring
	g.prev.next, g.next.prev = g, g
}

func (g *gauge) leave() {
	g.prev.next, g.next.prev = g.next, g.prev
	g.prev, g.next = nil, nil
}

// charge notes that the capacity is counted against the budget. It returns false
// when it was already.
func (g *gauge) charge() bool {
	if !g.charged.CompareAndSwap(0, 1) {
		return false
	}
	if g.asleep.Load() {
		g.wake()
	}
	return true
}

// sleep moves g, which is idle, to the ring that the budget does not look at. It
// is called with mu held, that of the class c.
func (g *gauge) sleep(c *class) {
	g.leave()
	g.join(c.asleep)
	g.asleep.Store(true)
	// charge does the two the other way round, so that one of them sees the other.
	if g.charged.Load() != 0 {
		g.awake(c)
	}
}

func (g *gauge) wake() {
	c := g.class.Value()
	if c == nil {
		return // the allocator is gone, and its figures with it
	}
	c.mu.Lock()
	g.awake(c)
	c.mu.Unlock()
}

func (g *gauge) awake(c *class) {
	if g.next != nil && g.asleep.Load() {
		g.leave()
		g.join(c.gauges)
		g.asleep.Store(false)
	}
}

func (g *gauge) markTook()  { sys.StoreRelaxed(&g.took, g.took+1) }
func (g *gauge) markFreed() { sys.StoreRelaxed(&g.freed, g.took) }

// untake takes markTook back for a block that is not handed out after all.
func (g *gauge) untake() { sys.StoreRelaxed(&g.took, g.took-1) }

// markCut notes that a view of n bytes was cut, when it is small enough that
// it could come to pin the block.
func (g *gauge) markCut(n int) {
	if n <= g.size/8 {
		g.cut.Store(atomic.LoadUint32(&g.took))
	}
}

// markLoose notes that only views keep the block from now on.
func (g *gauge) markLoose() { g.loose.Store(atomic.LoadUint32(&g.took)) }

// markHeld takes markLoose back: no checkout has number 0.
func (g *gauge) markHeld() { g.loose.Store(0) }

// markPartLoose is markLoose by the holder of n bytes, if small views exist
// and n is not one of them.
func (g *gauge) markPartLoose(n int) {
	if n > g.size/8 && g.cut.Load() == atomic.LoadUint32(&g.took) {
		g.markLoose()
	}
}

func (g *gauge) gets() uint32 { return atomic.LoadUint32(&g.took) }

func (g *gauge) out() bool { return atomic.LoadUint32(&g.took) != atomic.LoadUint32(&g.freed) }

func (g *gauge) pinned() bool { return g.out() && g.loose.Load() == atomic.LoadUint32(&g.took) }
