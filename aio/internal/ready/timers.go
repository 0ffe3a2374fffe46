//go:build unix && !aix && !solaris && !illumos

package ready

import (
	"container/heap"
	"math"
	"time"
)

// timers is a heap of the operations that have a deadline, the soonest first.
type timers []expiry

// expiry is an operation that ends at a time.
type expiry struct {
	when int64
	c    *conn
	t    *task
	seq  uint32
}

// in returns the time that comes so much after now, both in nanoseconds since start. A deadline
// is kept by what is left until it at its submission, as package net keeps it, and not by its
// distance from start: one that has lost its monotonic clock, as time.Time.UTC does it, would be
// off by all that the wall clock was set since then.
func in(now, left time.Duration) int64 {
	return int64(now + min(left, math.MaxInt64-now))
}

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return t[i].when < t[j].when }

func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].t.timer, t[j].t.timer = int32(i), int32(j)
}

// Push is for container/heap alone, which pushes what push has appended.
func (t *timers) Push(any) {}

// Pop is for container/heap alone.
func (t *timers) Pop() any {
	last := len(*t) - 1
	(*t)[last].t.timer = noTimer
	(*t)[last] = expiry{}
	*t = (*t)[:last]
	return nil
}

// push adds k of c, whose deadline is when, in nanoseconds since start.
func (t *timers) push(c *conn, k *task, when int64) {
	k.timer = int32(len(*t))
	*t = append(*t, expiry{when: when, c: c, t: k, seq: k.seq.Load()})
	heap.Push(t, nil)
}

// next returns the soonest deadline, or 0.
func (t timers) next() int64 {
	if len(t) == 0 {
		return 0
	}
	return t[0].when
}

// remove takes the timer of k away, if it has one.
func (t *timers) remove(k *task) {
	if k.timer != noTimer {
		heap.Remove(t, int(k.timer))
	}
}

// expired takes the soonest away and returns it, if it is not later than now.
func (t *timers) expired(now int64) (e expiry, ok bool) {
	if len(*t) == 0 || (*t)[0].when > now {
		return expiry{}, false
	}
	e = (*t)[0]
	heap.Pop(t)
	return e, true
}
