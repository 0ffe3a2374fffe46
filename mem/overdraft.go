package mem

import "time"

// overdraftInterval is the least time between two overdrafts of which the
// first has not come back. A frame whose bytes are on their way is complete
// within a round trip, which is shorter than this for most peers; and it bounds
// what slow peers can add, to 20 requests a second.
const overdraftInterval = 50 * time.Millisecond

// An overdraft is room that was granted beyond the limit, because those who
// wait hold so much that nobody could make it: without it they would wait for
// each other for ever. It is granted to the first in the queue, and not again
// before it has come back or overdraftInterval has passed.
type overdraft struct {
	bytes int64     // granted over the limit and not come back when last looked at
	base  int64     // charged before the latest, or the limit if that is more
	began time.Time // the latest
}

// stuck reports whether t could not be served even if everybody gave back what
// is not held by those who wait, for room or for their peers. It is called with
// mu held.
func (u *budget) stuck(t *ticket) bool {
	return int64(t.size) > u.limit-(u.queue.held+u.idle.Load())
}

// overdrawn reports whether the latest overdraft is still out and young. It is
// called with mu held.
func (u *budget) overdrawn() bool {
	u.over.bytes = u.overdraft()
	return u.over.bytes > 0 && u.charged.Load() > u.over.base && time.Since(u.over.began) < overdraftInterval
}

// overdraft returns how much is granted over the limit now. What Get took does
// not count, but takes the place of what has come back. It is called with mu
// held.
func (u *budget) overdraft() int64 {
	return min(u.over.bytes, max(0, u.charged.Load()-u.limit))
}

// overdraw charges what t, the first in the queue, asks for beyond the limit,
// if that is the only way and its time has come. It is called with mu held.
func (u *budget) overdraw(t *ticket) bool {
	if !u.stuck(t) || u.overdrawn() {
		return false
	}
	after := u.charged.Add(int64(t.size))
	u.over.base = max(u.limit, after-int64(t.size))
	u.over.bytes += max(0, after-u.over.base)
	u.over.began = time.Now()
	return true
}
