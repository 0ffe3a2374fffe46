package std

import (
	"fmt"
	"net"

	"github.com/sluice-go/sluice/aio/internal/op"
)

// Listen returns an error: connections are accepted with the listener's own method.
func (d *Driver) Listen(net.Listener) (net.Conn, error) {
	return nil, fmt.Errorf("%w: the std driver does not accept", op.ErrUnsupported)
}

// Adopt returns an error: there are no connections of Listen.
func (d *Driver) Adopt(net.Conn, any) error { return op.ErrUnsupported }

// Post makes the next Wait return a result with these, without an operation.
func (d *Driver) Post(ctx any, conn net.Conn, err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.life.state >= closing {
		return op.ErrWatcherClosed
	}
	r := d.done.Add()
	r.Context, r.Conn, r.Error = ctx, conn, err
	d.more.Signal()
	return nil
}

// Load returns the number of connections.
func (d *Driver) Load() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return int(d.counters.Delegated - d.counters.Freed)
}

// Held returns how much memory the queued writes of conn hold, in bytes.
func (d *Driver) Held(conn net.Conn) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.table.conns[conn]; c != nil {
		return c.writes.held
	}
	return 0
}
