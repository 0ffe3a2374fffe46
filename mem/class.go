package mem

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"weak"
)

// Size classes are the powers of two from 256 B to 4 MiB. Below 256 B the
// header would cost more than the bytes; above 4 MiB a block that lies in a
// cache is worth less to the program than the memory.
const (
	minShift   = 8
	numClasses = 15
	minClass   = 1 << minShift
	maxClass   = minClass << (numClasses - 1)
)

// classOf returns the index of the smallest class that holds n bytes,
// 1 <= n <= maxClass.
func classOf(n int) int { return bits.Len32(uint32(n-1) >> minShift) }

// A class is the blocks of one size: the cache of free ones, which is a
// sync.Pool and so per processor and emptied by the collector, and the gauges
// of all that exist.
type class struct {
	pool  sync.Pool
	flags atomic.Uint32 // beside the pool's first words, which Get and Release load anyway
	heap  bool          // sizes above the classes: never cached
	size  int
	alloc *Allocator

	misses atomic.Int64

	mu sync.Mutex
	// gauges and asleep are the heads of rings, which have all blocks of this class
	// that exist. Those asleep have no charge: see budget.reclaim. They are not in the
	// class, so that a gauge does not lead to the pool.
	gauges, asleep *gauge
	self           weak.Pointer[class]

	live   int
	gone   int64 // checkouts of blocks that no longer exist
	forgot int64 // blocks that the collector found while checked out
	_      [64]byte
}

// all calls yield with the gauge of each block that exists; mu is held.
func (c *class) all(yield func(*gauge) bool) {
	for _, ring := range c.rings() {
		for g := ring.next; g != ring; g = g.next {
			if !yield(g) {
				return
			}
		}
	}
}

// A class's flags send blocks through the slow path, out or back.
const (
	flagCareful  = 1 << iota // Get has more to do than to take a block
	flagPressure             // the budget is used up: give charges back at once
	flagPoison               // overwrite and quarantine what comes home

	flagsBack = flagPressure | flagPoison
)

func (c *class) init(a *Allocator, size int) {
	c.alloc, c.size, c.self = a, size, weak.Make(c)
	c.gauges, c.asleep = new(gauge), new(gauge)
	for _, ring := range c.rings() {
		ring.next, ring.prev = ring, ring
	}
}

func (c *class) rings() [2]*gauge { return [2]*gauge{c.gauges, c.asleep} }

// create makes a block of size bytes, not checked out yet.
func (c *class) create(size int) *block {
	if c.alloc == nil {
		panicZero()
	}
	c.misses.Add(1)
	g := &gauge{class: c.self, size: size}
	b := &block{data: make([]byte, size), home: c, gauge: g}
	b.own.block, b.own.kind = b, b.ownKind()
	b.own.word.Store(first)
	c.mu.Lock()
	g.join(c.gauges)
	c.live++
	c.mu.Unlock()
	runtime.AddCleanup(b, (*gauge).found, g)
	return b
}

//go:noinline
func panicZero() { panic("mem: Allocator that New has not made") }

// takeBack receives a block whose last reference was released.
func (c *class) takeBack(b *block) {
	b.endTrack()
	flags := c.flags.Load()
	if flags&flagPressure != 0 {
		c.alloc.budget.refund(b.gauge)
	}
	if flags&flagPoison != 0 {
		c.alloc.quarantine.take(b)
		return
	}
	c.pool.Put(b)
}

// found is what happens when the collector has found the block.
func (g *gauge) found() {
	if c := g.class.Value(); c != nil {
		c.retire(g, false)
	}
}

// retire removes a block's gauge from the accounting: the block was dropped,
// or the collector has found it.
func (c *class) retire(g *gauge, released bool) {
	c.mu.Lock()
	if g.next == nil {
		c.mu.Unlock()
		return
	}
	g.leave()
	c.live--
	c.gone += int64(g.gets())
	if !released && g.out() {
		c.forgot++
	}
	c.mu.Unlock()
	c.alloc.budget.refund(g)
}
