package std

import (
	"time"
)

// arm sets the connection's deadline for the next call. It reports whether to make that
// call: no operation in flight has been ended.
func (dir *direction) arm(until time.Time) bool {
	dir.setting.Lock()
	defer dir.setting.Unlock()
	d := dir.conn.driver
	d.mu.Lock()
	for _, o := range dir.flight {
		if o.err != nil {
			d.mu.Unlock()
			return false
		}
	}
	dir.interrupted = false
	d.mu.Unlock()
	dir.setDeadline(until)
	return true
}

// reset removes the deadline that the direction has set.
func (dir *direction) reset() {
	dir.setting.Lock()
	defer dir.setting.Unlock()
	dir.setDeadline(time.Time{})
}

// interrupt interrupts the call that o is in, if it still is.
func (dir *direction) interrupt(o *operation) {
	dir.setting.Lock()
	defer dir.setting.Unlock()
	d := dir.conn.driver
	d.mu.Lock()
	hit := o.phase == inFlight && o.err != nil
	if hit {
		dir.interrupted = true
	}
	d.mu.Unlock()
	if hit {
		dir.setDeadline(time.Unix(1, 0))
	}
}

// setDeadline is called with setting held. A connection may refuse: then its
// calls are not interrupted, see std.
func (dir *direction) setDeadline(t time.Time) {
	if dir.wasSet && t.Equal(dir.set) {
		return
	}
	if dir.sends {
		dir.conn.conn.SetWriteDeadline(t)
	} else {
		dir.conn.conn.SetReadDeadline(t)
	}
	dir.set, dir.wasSet = t, true
}

// passed reports whether there is a deadline and it has passed.
func passed(deadline time.Time) bool {
	return !deadline.IsZero() && !time.Now().Before(deadline)
}
