package netsim

import (
	"os"
	"sync"
	"time"
)

// A deadline is a point in time that may change while a goroutine waits for it.
type deadline struct {
	mu      sync.Mutex
	at      time.Time     // zero for none
	changed chan struct{} // closed at the next change; nil until the next get
}

func (d *deadline) set(at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = at
	if d.changed != nil {
		close(d.changed)
		d.changed = nil
	}
}

func (d *deadline) get() (at time.Time, changed <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.changed == nil {
		d.changed = make(chan struct{})
	}
	return d.at, d.changed
}

func (d *deadline) passed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.at.IsZero() && !time.Now().Before(d.at)
}

// wait returns nil at until (never, if that is zero) or when wake delivers;
// before that, an error when the deadline passes or the connection ends.
func (c *Conn) wait(d *deadline, until time.Time, wake <-chan struct{}) error {
	for {
		at, changed := d.get()
		now := time.Now()
		if !at.IsZero() && !now.Before(at) {
			return os.ErrDeadlineExceeded
		}
		if !until.IsZero() && !now.Before(until) {
			return nil
		}
		next := until
		if next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
		var timer *time.Timer
		var expired <-chan time.Time
		if !next.IsZero() {
			timer = time.NewTimer(next.Sub(now))
			expired = timer.C
		}
		var woken bool
		var ended error
		select {
		case <-c.ended:
			ended = c.cause()
		case <-wake:
			woken = true
		case <-changed:
		case <-expired:
		}
		if timer != nil {
			timer.Stop()
		}
		if woken || ended != nil {
			return ended
		}
	}
}
