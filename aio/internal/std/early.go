package std

import (
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
)

// dropExpired completes what is queued with a deadline that has passed: all of it
// together, so that one wait returns it.
func (dir *direction) dropExpired(now time.Time) {
	var late []*operation
	for o := dir.head; o != nil; {
		next := o.next
		if !o.Deadline.IsZero() && !now.Before(o.Deadline) {
			dir.remove(o)
			o.phase = ended
			late = append(late, o)
		}
		o = next
	}
	for _, o := range late {
		dir.conn.driver.complete(o, op.ErrDeadline)
	}
}

// hold starts a timer that ends o at its deadline while it waits in the queue.
func (d *Driver) hold(o *operation) {
	if !o.Deadline.IsZero() {
		o.timer = time.AfterFunc(time.Until(o.Deadline), func() { d.expired(o) })
	}
}

// expired ends an operation whose deadline came while it was queued. One that is
// being carried out has its deadline set on the connection.
func (d *Driver) expired(o *operation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if o.phase != queued {
		return
	}
	now := time.Now()
	if now.Before(o.Deadline) {
		// The wall clock was set; the timer counts.
		now = o.Deadline
	}
	d.life.goroutines++
	o.dir.dropExpired(now)
	d.exit()
}

// cancelled ends an operation whose context is done, with the cause.
func (d *Driver) cancelled(o *operation, err error) {
	d.mu.Lock()
	switch o.phase {
	case submitted, inFlight:
		if o.err == nil {
			o.err = err
		}
	case queued:
		d.life.goroutines++
		o.dir.remove(o)
		d.complete(o, err)
		d.exit()
	}
	flying := o.phase == inFlight
	d.mu.Unlock()
	if flying {
		o.dir.interrupt(o)
	}
}
