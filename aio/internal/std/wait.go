package std

import (
	"fmt"

	"github.com/sluice-go/sluice/aio/internal/op"
)

// Wait ends the lease of its previous results, waits until operations have completed
// and returns them. After Close it returns op.ErrWatcherClosed, once together with what
// was pending.
func (d *Driver) Wait() ([]op.Result, error) {
	d.waiting.Lock()
	defer d.waiting.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leases.out = d.leases.end(d.leases.out)
	d.done.Recycle()
	d.table.over = d.table.batch
	d.sweepSettled()
	// While it is being closed everything that was pending is on its way, and
	// is handed out together.
	for d.life.state == closing || d.life.state < closing && d.done.Len() == 0 {
		d.more.Wait()
	}
	results := d.done.Take()
	d.table.batch++
	d.leases.out, d.leases.next = d.leases.next, d.leases.out
	if d.life.state == closed {
		return results, op.ErrWatcherClosed
	}
	return results, nil
}

// Pin returns an error: there is no single thread to pin.
func (d *Driver) Pin(int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.life.state >= closing {
		return op.ErrConnClosed
	}
	return fmt.Errorf("%w: the std driver has no thread of its own to pin", op.ErrUnsupported)
}

// Counters counts as connections those that have something pending, and of the
// idle ones those that are remembered: see knownConns.
func (d *Driver) Counters() op.Counters {
	d.mu.Lock()
	defer d.mu.Unlock()
	st := d.counters
	for _, c := range d.table.conns {
		if c.ending == nil {
			st.Conns++
		}
	}
	for range d.table.known.idle(d.table.busy) {
		st.Conns++
	}
	return st
}
