package mem

import (
	"encoding/json"
	"time"
)

// Stats are an allocator's figures, taken class by class while others go on:
// each is right for a moment, they need not be of the same one. A checkout or
// its end may show a moment late.
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
	Budget      BudgetStats
	Classes     []ClassStats // classes that have been used, the last with Size 0 for larger blocks
}

// BudgetStats are the figures of an allocator's budget.
type BudgetStats struct {
	Limit   int64 // bytes, 0: none
	Charged int64 // capacity counted against it, with that of idle blocks that has not been called in
	Waiting int   // GetContext and AwaitSlab calls that wait
	// LongestWait is how long the first of them has waited, in nanoseconds in
	// JSON.
	LongestWait time.Duration
	// Overdraft is the capacity granted beyond Limit now, because those who
	// wait could not have gone on without it. What Get took is not in it.
	Overdraft int64
}

// ClassStats are the figures of one size class.
type ClassStats struct {
	Size        int // bytes a block
	CheckedOut  int
	PinnedBytes int64
	Live        int // blocks that exist
	Hits        int64
	Misses      int64
	Forgotten   int64
}

// Stats returns the allocator's figures. It looks at every block that exists
// and stops no one.
func (a *Allocator) Stats() Stats {
	s := Stats{Name: a.name}
	for i := range a.classes {
		s.add(&a.classes[i])
	}
	s.add(&a.large)
	s.Budget = a.budget.stats()
	return s
}

func (u *budget) stats() BudgetStats {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := BudgetStats{Limit: u.limit, Charged: u.charged.Load(), Waiting: u.queue.len(), Overdraft: u.overdraft()}
	if t := u.queue.first(); t != nil {
		s.LongestWait = time.Since(t.came)
	}
	return s
}

func (s *Stats) add(c *class) {
	cs := ClassStats{Size: c.size}
	c.mu.Lock()
	gets := c.gone
	for g := c.gauges.next; g != &c.gauges; g = g.next {
		gets += int64(g.gets())
		if !g.out() {
			s.IdleBytes += int64(g.size)
			continue
		}
		cs.CheckedOut++
		s.OutBytes += int64(g.size)
		if g.pinned() {
			cs.PinnedBytes += int64(g.size)
		}
	}
	cs.Live = c.live
	cs.Forgotten = c.forgot
	c.mu.Unlock()
	cs.Misses = c.misses.Load()
	// A block counts as missed when it is made and as got a moment later.
	cs.Hits = max(0, gets-cs.Misses)
	s.CheckedOut += cs.CheckedOut
	s.PinnedBytes += cs.PinnedBytes
	s.Hits += cs.Hits
	s.Misses += cs.Misses
	s.Forgotten += cs.Forgotten
	if cs.Misses > 0 {
		s.Classes = append(s.Classes, cs)
	}
}

// String returns the figures as a JSON object, which makes an Allocator an
// expvar.Var: expvar.Publish("sluice", alloc).
func (a *Allocator) String() string {
	s := a.Stats()
	p, err := json.Marshal(&s)
	if err != nil {
		panic("mem: Stats do not marshal: " + err.Error())
	}
	return string(p)
}
