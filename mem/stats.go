package mem

import (
	"time"
)

// Stats are an allocator's figures, read class by class while other goroutines
// go on: each is right for a moment, but not all for the same moment. A checkout
// or its end may show a moment late.
type Stats struct {
	Name       string
	CheckedOut int   // blocks that are out
	OutBytes   int64 // their capacity
	// PinnedBytes is the part of OutBytes in blocks that are kept by views
	// only: their filler has let go, or a large Buf was released while views
	// of an eighth or less of the block stayed.
	PinnedBytes int64
	IdleBytes   int64 // capacity of blocks that exist and are not out: cached or not yet collected
	Hits        int64 // checkouts from a cache
	Misses      int64 // checkouts that had to make a block
	Forgotten   int64 // blocks that the collector found while they were out
	// Budget are the figures of the budget.
	Budget struct {
		Limit   int64 // bytes, 0: none
		Charged int64 // capacity counted against it, with that of idle blocks that has not been called in
		Waiting int   // readers and GetContext calls that wait
		// LongestWait is how long the first of them has waited, in nanoseconds in
		// JSON.
		LongestWait time.Duration
		// Overdraft is the capacity granted beyond Limit now, because waiting
		// readers could not have gone on without it. What Get took is not in it.
		Overdraft int64
	}
}

// Stats returns the allocator's figures. It looks at every block that exists
// and stops no one.
func (a *Allocator) Stats() Stats {
	if a.large.alloc == nil {
		panicZero()
	}
	s := Stats{Name: a.name}
	for i := range a.classes {
		s.add(&a.classes[i])
	}
	s.add(&a.large)
	s.addBudget(&a.budget)
	return s
}

func (s *Stats) addBudget(u *budget) {
	u.mu.Lock()
	defer u.mu.Unlock()
	b := &s.Budget
	b.Limit, b.Charged = u.limit, u.charged.Load()
	b.Waiting, b.Overdraft = u.queue.len(), u.overdraft()
	if t := u.queue.first(); t != nil {
		b.LongestWait = time.Since(t.came)
	}
}

func (s *Stats) add(c *class) {
	c.mu.Lock()
	gets := c.gone
	for g := range c.all {
		gets += int64(g.gets())
		if !g.out() {
			s.IdleBytes += int64(g.size)
			continue
		}
		s.CheckedOut++
		s.OutBytes += int64(g.size)
		if g.pinned() {
			s.PinnedBytes += int64(g.size)
		}
	}
	s.Forgotten += c.forgot
	c.mu.Unlock()
	misses := c.misses.Load()
	s.Misses += misses
	// A block counts as missed when it is made and as got a moment later.
	s.Hits += max(0, gets-misses)
}

// gets returns how many checkouts there have been; mu is held.
func (c *class) gets() int64 {
	n := c.gone
	for g := range c.all {
		n += int64(g.gets())
	}
	return n
}

// taken returns the capacity of all checkouts there have been, but for blocks
// above the classes.
func (a *Allocator) taken() (sum int64) {
	for i := range a.classes {
		c := &a.classes[i]
		c.mu.Lock()
		sum += c.gets() * int64(c.size)
		c.mu.Unlock()
	}
	return sum
}
