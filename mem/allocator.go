package mem

import (
	"fmt"

	"github.com/sluice-go/sluice/internal/invariant"
)

// Allocator hands out Bufs from caches of free blocks, one cache for each
// size class. Any goroutine may use it, and any goroutine may release what it
// handed out. An allocator needs no closing: one that is forgotten is
// collected with everything in its caches. Only New makes one that can be used.
//
// Memory is not cleared between uses: a new Buf holds what was there before.
// A caller that fills a part must pass on only that part.
type Allocator struct {
	classes    [numClasses]class
	large      class
	name       string
	budget     budget
	leak       leak
	quarantine quarantine
	slices     slices
}

// Options configures an Allocator. The zero value is an unlimited allocator
// without leak checks.
type Options struct {
	// Name appears in reports and messages.
	Name string
	// Budget is the most capacity in bytes that TryGet, GetContext and readers
	// let be checked out at once; 0 is no limit. Requests that wait for room are
	// served first in, first out.
	//
	// Readers that each hold half a frame could wait for each other for ever.
	// So when all that others could give back is not enough for the first in
	// the queue, one is served beyond the limit (an overdraft): the one that holds
	// most, or the first when it has been that for 100 ms. Overdrafts are
	// granted one at a time: the next one when the latest has been given back,
	// or after 10 ms, or sooner when more than 100 wait. So 1,000 stalled peers
	// delay a newcomer by 3.3 s. What readers hold between two calls, and
	// writers until a flush, counts only when no room has come back for 100 ms:
	// the goroutine that waits may be the one that has it. So the budget is
	// exceeded by at most one frame for each connection, and only for
	// connections whose peers are slow to send the rest of their frames, or
	// whose goroutines wait for each other. A server ends those by a read
	// deadline for a whole frame, and with them the overdrafts (SetTimeout of the
	// reader ends silent ones: it bounds each wait for bytes). Bufs
	// that a program keeps are no reason for an overdraft: that is back-pressure.
	// Nor is what writers are sending: where readers and writers of one allocator are
	// each other's peers, all may wait for each other. A write deadline ends that
	// (SetTimeout of the writer), or an allocator for each side.
	//
	// The queue has channels and a timer: two bubbles of testing/synctest cannot share
	// an allocator with a budget.
	Budget int64
	// Leak is how closely forgotten references are watched.
	Leak Level
}

// New returns an allocator of its own: its blocks, budget and figures are
// shared with no other.
func New(o Options) *Allocator {
	if o.Budget < 0 {
		panic(fmt.Sprintf("mem: New: budget %d is negative", o.Budget))
	}
	a := &Allocator{name: o.Name}
	for i := range a.classes {
		a.classes[i].init(a, minClass<<i)
	}
	a.large.init(a, 0)
	a.large.heap = true
	a.budget.init(a, o.Budget)
	a.quarantine.init()
	a.SetLeak(o.Leak)
	return a
}

var standard = New(Options{Name: "default"})

// Default returns the allocator that readers and writers use when they are
// given none.
func Default() *Allocator { return standard }

// Get returns a Buf of n bytes, retained. It never fails: with a budget it
// counts against it and may exceed it, for callers who cannot stop. Sizes
// above 4 MiB come from the heap and are not cached. A negative n, or one
// above 4 GiB - 1, panics.
func (a *Allocator) Get(n int) Buf {
	if uint(n-1) >= maxClass {
		return a.getOdd(n)
	}
	c := &a.classes[classOf(n)]
	b, _ := c.pool.Get().(*block)
	if b == nil || c.flags.Load()&flagCareful != 0 {
		return a.getSlow(c, b, n)
	}
	b.gauge.markTook()
	b.own.data = b.data[:n:n]
	return Buf{&b.own, b.own.word.Load() &^ issuedMask}
}

// getSlow is Get with everything that is not usual: a miss, a budget, the
// leak kit.
//
//go:noinline
func (a *Allocator) getSlow(c *class, b *block, n int) Buf {
	if b == nil {
		b = c.create(c.size)
	}
	b.gauge.markTook()
	if a.budget.limit > 0 && b.gauge.charged.Load() == 0 {
		a.budget.charge(b.gauge)
	}
	return a.checkedOut(b, n)
}

// checkedOut makes the Buf for a block whose gauge says that it is out.
func (a *Allocator) checkedOut(b *block, n int) Buf {
	w := b.own.word.Load()
	if invariant.Enabled {
		invariant.Check(w&^genMask == issuedOne|1, "mem: the word of a free block is %#x", w)
		invariant.Check(b.own.kind == b.ownKind(), "mem: free block is cut")
		invariant.Check(b.track == nil && !b.own.tracked, "mem: free block is tracked")
		invariant.Check(len(b.data) >= n, "mem: block of %d bytes for %d", len(b.data), n)
	}
	b.own.data = b.data[:n:n]
	buf := Buf{&b.own, w &^ issuedMask}
	if a.leak.level.Load() != uint32(LeakOff) {
		a.leak.begin(b, n, buf.key)
	}
	return buf
}

// getOdd serves the sizes that no class is for: 0, and more than the largest.
func (a *Allocator) getOdd(n int) Buf {
	a.checkSize("Get", n)
	if n == 0 {
		b := a.Get(1)
		b.c.data = b.c.data[:0:0]
		return b
	}
	b := a.large.create(n)
	b.gauge.markTook()
	if a.budget.limit > 0 {
		a.budget.charge(b.gauge)
	}
	return a.checkedOut(b, n)
}

func (a *Allocator) checkSize(op string, n int) {
	if n < 0 || n > maxBuf {
		panic(fmt.Sprintf("mem: Allocator.%s(%d): sizes are 0 to %d", op, n, uint64(maxBuf)))
	}
}

// room returns the class that serves n bytes and the capacity that it costs.
func (a *Allocator) room(n int) (*class, int) {
	if n > maxClass {
		return &a.large, n
	}
	c := &a.classes[classOf(max(n, 1))]
	return c, c.size
}

// Cap returns the capacity in bytes that a Get of n takes from memory and
// from the budget.
func (a *Allocator) Cap(n int) int {
	a.checkSize("Cap", n)
	_, size := a.room(n)
	return size
}

// Trim gives cached memory back to the collector. What is checked out stays
// out; a few blocks in the hands of other processors may stay cached until
// the next two collections, which empty all caches in any case.
func (a *Allocator) Trim() {
	for i := range a.classes {
		c := &a.classes[i]
		c.mu.Lock()
		n := c.live
		c.mu.Unlock()
		for ; n > 0; n-- {
			b, _ := c.pool.Get().(*block)
			if b == nil {
				break
			}
			c.retire(b.gauge, true)
		}
	}
	a.quarantine.flush()
	a.budget.trim()
}
