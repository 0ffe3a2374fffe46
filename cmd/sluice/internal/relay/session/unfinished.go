package session

import (
	"fmt"
	"sync"
	"time"
)

// Unfinished bounds what publishers together have sent of frames that have no end yet: as
// long as nothing else does, each may have one of the longest length. The zero value has no
// bound. It is safe for concurrent use.
type Unfinished struct {
	mu      sync.Mutex
	most    int64 // bytes; 0: no bound
	sum     int64
	holders map[*Holder]struct{} // those that hold something
}

// A Holder is one publisher, whose frames are read by one goroutine at a time.
type Holder struct {
	of    *Unfinished
	end   func(error)
	held  int64
	since time.Time
	over  bool // it gave way
}

// Bound sets the bound in bytes, 0 for none, before the first holder.
func (u *Unfinished) Bound(most int64) {
	u.most, u.holders = most, map[*Holder]struct{}{}
}

// Holder returns one that holds nothing yet. end ends the publisher when it has to give way;
// it is called on a goroutine of its own.
func (u *Unfinished) Holder(end func(error)) *Holder { return &Holder{of: u, end: end} }

// Hold says that the holder has n bytes now, or will soon. When all together are too many,
// the one gives way that has held most for longest: who sends as fast as a line goes is not
// ended for others who stop half way. An error matches ErrFull: it was this one.
func (h *Holder) Hold(n int) error {
	u := h.of
	if u.most == 0 {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if h.over {
		return u.full()
	}
	if h.held == 0 {
		h.since = time.Now()
		u.holders[h] = struct{}{}
	}
	u.set(h, int64(n))
	for u.sum > u.most {
		w := u.worst(time.Now())
		u.set(w, 0)
		if w.over = true; w == h {
			return u.full()
		}
		go w.end(u.full())
	}
	return nil
}

// set changes what a holder has. The lock is held.
func (u *Unfinished) set(h *Holder, n int64) {
	u.sum += n - h.held
	if h.held = n; n == 0 {
		delete(u.holders, h)
	}
}

// usual is a time that any frame may take: the server itself is late by parts of it. Who holds
// more is worse then, not who is a few milliseconds older.
const usual = time.Second

// worst is the holder with the largest product of bytes and time. The lock is held.
func (u *Unfinished) worst(now time.Time) (worst *Holder) {
	most := -1.0
	for h := range u.holders {
		if is := float64(h.held) * (usual + now.Sub(h.since)).Seconds(); is > most {
			worst, most = h, is
		}
	}
	return worst
}

func (u *Unfinished) full() error {
	return fmt.Errorf("%w: frames that publishers have begun and not ended take %d bytes, which max-memory allows", ErrFull, u.most)
}
