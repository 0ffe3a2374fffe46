package mem

import "time"

const (
	// overdraftInterval is the time between two overdrafts of which the first has
	// not come back. A frame whose bytes are on their way is complete within a
	// round trip, which is shorter than this for most peers; and it bounds how
	// fast slow peers can add to the memory, to 100 requests a second.
	overdraftInterval = 10 * time.Millisecond
	// queueTime is what the interval is shortened by where many wait: each gets
	// this divided by their number. So the last of 1,000 whose peers have all
	// stalled waits for 3.3 s, and of 10,000 for 5.6 s, not for 10 and 100.
	queueTime = time.Second
	// frontTime is how long the first in the queue is passed over by overdrafts for
	// those that hold more. Where these finish, it is served from what they give back long before.
	frontTime = 100 * time.Millisecond
)

// overdraftAfter is when the next overdraft may be granted though the latest
// has not come back. It is called with mu held.
func (u *budget) overdraftAfter() time.Time {
	return u.over.began.Add(min(overdraftInterval, queueTime/time.Duration(max(1, u.queue.len()))))
}

// An overdraft is room that was granted beyond the limit, because the waiting
// readers hold so much that the room could never come back: without it they
// would wait for each other for ever. It is granted to the one in the queue that holds
// most, of several to the first: it is nearest to giving something back, and one that holds
// nothing would become one more that waits with something in its hands. When the first
// has been the first for frontTime it is granted to that. The next one is
// granted when this one has come back or after overdraftAfter.
//
// It has come back when the charge is no higher than before it. If the charge
// had to fall to the limit, one overdraft that a slow peer keeps would make all
// others wait for the interval, one after the other.
type overdraft struct {
	bytes int64     // granted over the limit and not come back when last looked at
	base  int64     // charged before the latest, or the limit if that is more
	out   bool      // the latest has not come back
	began time.Time // when the latest was granted
}

// stuck reports whether t could not be served even if all capacity came back
// that is not held by readers that wait, for room or for their peers, and, where
// the queue stands still, not kept by others. It is called with mu held.
func (u *budget) stuck(t *ticket) bool {
	left := u.limit - (u.queue.held + u.idle.Load()) - int64(t.size)
	return left < 0 || left < u.kept.bytes.Load() && u.queue.stands()
}

// overdraft returns how much is granted over the limit now. What Get takes
// meanwhile can keep it from falling, not make it rise. It is called with mu
// held.
func (u *budget) overdraft() int64 {
	return min(u.over.bytes, max(0, u.charged.Load()-u.limit))
}

// lookOver notes what has come back of the overdrafts. It is called with mu
// held.
func (u *budget) lookOver() {
	u.over.bytes = u.overdraft()
	if u.charged.Load() <= u.over.base {
		u.over.out = false
	}
}

// mayOverdraw reports whether the time of the next overdraft has come. It is
// called with mu held.
func (u *budget) mayOverdraw() bool {
	return !u.over.out || !time.Now().Before(u.overdraftAfter())
}

// overdraw charges beyond the limit what a ticket asks for, if first, the first in
// the queue, can be served in no other way and the time has come. It is called with mu held.
func (u *budget) overdraw(first *ticket) *ticket {
	if !u.stuck(first) || !u.mayOverdraw() {
		return nil
	}
	t := first
	if time.Since(u.queue.since) < frontTime {
		t = u.queue.nearest()
	}
	after := u.charged.Add(int64(t.size))
	u.over.base = max(u.limit, after-int64(t.size))
	u.over.out = after > u.over.base
	u.over.bytes += max(0, after-u.over.base)
	u.over.began = time.Now()
	return t
}
