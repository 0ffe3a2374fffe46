package std

import "github.com/sluice-go/sluice/aio/internal/op"

// start takes the first operation out of the queue to carry it out.
func (dir *direction) start() *operation {
	o := dir.head
	dir.remove(o)
	o.stopTimer()
	o.phase = inFlight
	if o.err == nil {
		// The connection may have been closed since the direction looked.
		o.err = dir.over()
	}
	dir.flight = append(dir.flight, o)
	return o
}

// over says why nothing in the queue will be carried out any more.
func (dir *direction) over() error {
	if dir.conn.ending == nil && !dir.sends && dir.conn.driver.life.state != open {
		return op.ErrWatcherClosed
	}
	return dir.conn.ending
}
