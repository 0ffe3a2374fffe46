package live

import (
	"slices"
	"time"
)

// An audience is those who read a stream, whose lock guards it.
type audience struct {
	followers    []follower
	waiting      []waiter // those that wait for more
	holders      int      // viewers, readers and open reservations: after the end the last to leave frees the ring
	left         int64    // when the last of them did, on the stream's clock
	reservations reservations
	arriving     int           // viewers that no loop has looked at yet
	progress     chan struct{} // closed when viewers have made some; nil when no publisher waits
}

// A follower is notified of new frames. Its methods are called with the stream's lock
// held.
type follower interface {
	// wake says that there are new frames, or that the stream is over.
	wake(over bool)
	// watch says whether slowest is asked for from now on.
	watch(on bool)
	// slowest is the number of the next frame for the slowest active viewer.
	slowest() uint64
}

// A waiter waits for more. Its method is called with the stream's lock held.
type waiter interface {
	// wake says the same as that of a follower. It reports whether the wait has ended.
	wake(over bool) bool
}

// reservations are places kept for the goroutines that have waited for a stream in
// Hub.Wait. Until they have added their viewers, reservationTime at most, the stream keeps
// everything, even if it is over by then, and a fast publisher waits for them.
type reservations struct {
	open  int
	timer *time.Timer
}

// reservationTime is how long reservations last.
const reservationTime = time.Second

// wakeAll notifies all followers and readers that there are new frames, or that the
// stream is over.
func (a *audience) wakeAll(over bool) {
	for _, f := range a.followers {
		f.wake(over)
	}
	if len(a.waiting) > 0 {
		a.waiting = slices.DeleteFunc(a.waiting, func(w waiter) bool { return w.wake(over) })
	}
}

func (a *audience) follow(f follower) { a.followers = append(a.followers, f) }

func (a *audience) unfollow(f follower) {
	if i := slices.Index(a.followers, f); i >= 0 {
		a.followers = slices.Delete(a.followers, i, i+1)
	}
	a.caughtUp()
}

// caughtUp wakes a waiting publisher when viewers have made progress.
func (a *audience) caughtUp() {
	if a.progress != nil {
		close(a.progress)
		a.progress = nil
	}
}
