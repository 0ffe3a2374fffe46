package mem

import (
	"fmt"
	"sync/atomic"
	"time"
)

// The goroutine that waits for room for one reader may be the one that has another reader with
// bytes in it, or a writer with bytes that it has not flushed, as in a proxy. Where all do so,
// nothing comes back. What is kept in this way does not count at once, as what waiting readers
// hold does, because as a rule its owner runs and gives it back soon. It counts when the queue
// has stood still, until the queue is empty.

// kept is what is kept in this way.
type kept struct {
	bytes atomic.Int64
	mark  atomic.Int64 // of this and idle together, above which settle must be called
}

// standTime is how long no room must have come back to the queue for that.
const standTime = 100 * time.Millisecond

// keep adds kept bytes of capacity (negative: subtracts) to what readers and writers hold while
// they wait for nothing. The cost is one atomic addition and two loads, and nothing without a budget. Any
// goroutine may call it. Subtracting more than was added panics.
func (a *Allocator) keep(kept int) {
	u := &a.budget
	if u.limit == 0 {
		return
	}
	sum := u.kept.bytes.Add(int64(kept))
	if sum < 0 {
		panic(fmt.Sprintf("mem: Allocator.keep(%d): %d bytes are left", kept, sum))
	}
	if kept > 0 && sum+u.idle.Load() > u.kept.mark.Load() {
		u.mu.Lock()
		u.settle()
		u.mu.Unlock()
	}
}

// settled reports whether nothing has passed its mark. It is called with mu held.
func (u *budget) settled() bool {
	idle := u.idle.Load()
	return u.charged.Load() > u.roomMark.Load() && idle <= u.idleMark.Load() &&
		idle+u.kept.bytes.Load() <= u.kept.mark.Load()
}

// stands reports whether the queue has stood still. It is called with mu held.
func (q *queue) stands() bool {
	if !q.stood && time.Since(q.moved) >= standTime {
		q.stood = true
	}
	return q.stood
}

// standsAt is when to look whether the queue stands still. It is called with mu held.
func (q *queue) standsAt() time.Time {
	at, now := q.moved.Add(standTime), time.Now()
	if !at.After(now) {
		at = now.Add(standTime)
	}
	return at
}
