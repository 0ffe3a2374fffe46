package std

import (
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"

	"github.com/sluice-go/sluice/aio/internal/op"
)

// end closes c for the operations on it, which complete with err. The directions do
// that in order, as soon as the connection itself has been closed.
func (d *Driver) end(c *conn, err error) {
	if c.ending != nil {
		return
	}
	c.ending = err
	for _, dir := range [...]*direction{&c.reads, &c.writes} {
		for _, o := range dir.flight {
			if o.phase == inFlight && o.err == nil {
				o.err = err
			}
		}
	}
	d.table.known.free(c.conn)
	d.counters.Freed++
	d.settle(c)
}

// CloseConn closes conn in the caller, which crypto/tls may take up to 5 s for when the
// peer takes nothing, and returns what Close says. Freeing it again closes it again
// where it is not known that it was freed, which does nothing either.
func (d *Driver) CloseConn(conn net.Conn) error {
	if conn == nil {
		return fmt.Errorf("%w: it is nil", op.ErrUnsupported)
	}
	if err := identifiable(conn); err != nil {
		if v := reflect.ValueOf(conn); v.Kind() == reflect.Pointer {
			return err
		}
		return closeOnce(conn)
	}
	d.mu.Lock()
	if c := d.table.conns[conn]; c != nil {
		freed := c.ending != nil
		d.end(c, io.ErrClosedPipe)
		d.mu.Unlock()
		if freed {
			return nil
		}
		return closeOnce(conn)
	}
	freed, anew := d.table.known.free(conn)
	if !freed {
		d.counters.Freed++
		if anew {
			d.counters.Delegated++
		}
	}
	d.mu.Unlock()
	if freed {
		return nil
	}
	return closeOnce(conn)
}

// closeOnce closes conn, for which being closed already is no error.
func closeOnce(conn net.Conn) error {
	err := conn.Close()
	if errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}

// closeConn is a goroutine that closes conn, since that may take its time.
func (d *Driver) closeConn(conn net.Conn) {
	conn.Close()
	d.mu.Lock()
	d.exit()
	d.mu.Unlock()
}
