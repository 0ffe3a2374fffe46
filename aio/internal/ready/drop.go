//go:build unix && !aix && !solaris && !illumos

package ready

import (
	"io"
	"net"

	"github.com/sluice-go/sluice/aio/internal/socket"
)

// CloseConn closes a connection and forgets it. What is pending on it completes with
// io.ErrClosedPipe. An unknown connection is closed.
func (d *Driver) CloseConn(name net.Conn) error {
	if o, ok := name.(*own); ok {
		d.closeOwn(o)
		return nil
	}
	address, err := addressOf(name)
	if err != nil {
		return err
	}
	d.mu.Lock()
	c := d.table.known(name, address)
	d.mu.Unlock()
	if c == nil {
		if err := closeName(name); err != nil {
			return err
		}
		// A submission may have taken it over at the same time. One that comes
		// later finds it closed.
		d.mu.Lock()
		c = d.table.known(name, address)
		d.mu.Unlock()
		if c == nil {
			return nil
		}
	}
	c.mu.Lock()
	if c.notTaken() { // a submission at the same time has left it to the program
		c.mu.Unlock()
		return closeName(name)
	}
	defer d.unlock(c)
	d.drop(c, io.ErrClosedPipe)
	return nil
}

// closeName closes a connection of the program, which it may have done.
func closeName(name net.Conn) error {
	if err := name.Close(); err != nil && !socket.IsClosed(err) {
		return err
	}
	return nil
}

// drop closes c and completes what is pending on it with err. It reports whether c
// was open. A peer that some of the queued bytes will never reach sees a reset: the end
// of the stream would say that it has everything. Called with c.mu.
func (d *Driver) drop(c *conn, err error) bool {
	if c.closed {
		return false
	}
	c.closed = true
	d.mu.Lock()
	if c.ready&taking == 0 {
		d.table.leave(c.name, c)
	} else {
		d.table.leaveFD(c)
	}
	o, accepted := c.name.(*own)
	if !d.life.closed && (!accepted || o.shown) {
		// A duplicate that the program has made would keep it registered.
		_ = d.poller.Remove(int(c.FD))
	}
	if !c.Listens {
		d.counters.Freed++
	}
	d.mu.Unlock()
	if c.queued() > 0 {
		c.ResetOnClose()
	}
	if accepted {
		o.closeSocket()
	} else {
		c.Close()
	}
	d.completeAll(c, err)
	return true
}
