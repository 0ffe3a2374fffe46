//go:build unix && !aix && !solaris && !illumos

package aio

import (
	"container/heap"
	"time"
)

// noTimer is the place of an op that has no timer.
const noTimer = -1

// timers is a heap of the operations that have a deadline, the soonest first.
type timers []expiry

// expiry is an operation that ends at a time.
type expiry struct {
	when int64
	c    *conn
	o    *op
	seq  uint32
}

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return t[i].when < t[j].when }

func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].o.heap, t[j].o.heap = int32(i), int32(j)
}

// Push is for container/heap alone, which pushes what push has appended.
func (t *timers) Push(any) {}

// Pop is for container/heap alone.
func (t *timers) Pop() any {
	last := len(*t) - 1
	(*t)[last].o.heap = noTimer
	(*t)[last] = expiry{}
	*t = (*t)[:last]
	return nil
}

// push adds o of c, whose deadline is o.when.
func (t *timers) push(c *conn, o *op) {
	o.heap = int32(len(*t))
	*t = append(*t, expiry{when: o.when, c: c, o: o, seq: o.seq})
	heap.Push(t, nil)
}

// next returns the soonest deadline, or 0.
func (t timers) next() int64 {
	if len(t) == 0 {
		return 0
	}
	return t[0].when
}

// untime takes the timer of o away. Called with mu.
func (p *readiness) untime(o *op) {
	if o.heap != noTimer {
		heap.Remove(&p.timers, int(o.heap))
	}
}

// expire ends the operations whose deadline has passed. It comes after the reads
// of a round, so that bytes that were in time are not thrown back. Called with
// mu, by whoever is in wait; gives it up meanwhile.
func (p *readiness) expire() {
	if len(p.timers) == 0 {
		return
	}
	now := int64(time.Since(p.start))
	for len(p.timers) > 0 && p.timers[0].when <= now {
		e := p.timers[0]
		heap.Pop(&p.timers)
		p.mu.Unlock()
		p.end(e.c, e.o, e.seq, ErrDeadline)
		p.mu.Lock()
	}
}
