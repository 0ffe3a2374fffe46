package std

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"

	"github.com/sluice-go/sluice/aio/internal/op"
)

// end closes c for the operations on it, which complete with err. The directions do
// that in order, as soon as the connection itself has been closed. cut says that bytes
// which were to be written never reach the peer.
func (d *Driver) end(c *conn, err error) (cut bool) {
	if c.ending != nil {
		return false
	}
	c.ending = err
	cut = c.writes.queued > 0 && !c.writes.shut
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
	return cut
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
		return closeOnce(conn, false)
	}
	d.mu.Lock()
	if c := d.table.conns[conn]; c != nil {
		freed := c.ending != nil
		cut := d.end(c, io.ErrClosedPipe)
		d.mu.Unlock()
		if freed {
			return nil
		}
		return closeOnce(conn, cut)
	}
	was, added := d.table.known.free(conn)
	if !was.freed {
		d.counters.Freed++
		if added {
			d.counters.Delegated++
		}
	}
	d.mu.Unlock()
	if was.freed {
		return nil
	}
	return closeOnce(conn, false)
}

// closeOnce closes conn, for which being closed already is no error. With cut the peer
// sees a reset, as far as there is one: the end of the stream, and close_notify, would
// say that it has everything.
func closeOnce(conn net.Conn, cut bool) error {
	if cut {
		under := conn
		if secure, ok := conn.(*tls.Conn); ok {
			under = secure.NetConn()
		}
		if resets, ok := under.(interface{ SetLinger(sec int) error }); ok {
			_ = resets.SetLinger(0)
		}
		if under != conn {
			_ = under.Close()
		}
	}
	err := conn.Close()
	if errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}

// closeConn is a goroutine that closes conn, since that may take its time.
func (d *Driver) closeConn(conn net.Conn, cut bool) {
	defer func() { // also when Close calls runtime.Goexit
		d.mu.Lock()
		d.exit()
		d.mu.Unlock()
	}()
	_ = closeOnce(conn, cut)
}
