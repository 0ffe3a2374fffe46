package netsim

import (
	"fmt"
	"net"
	"syscall"
)

// Reset breaks the connection, like a machine that was restarted: waiting and
// later calls fail with [ErrReset], on this side and, for a Pipe or TCP, on the
// other side. Over another kind of connection the other side sees an ordinary
// close. Close must still be called.
func (c *Conn) Reset() { c.resetBecause("by Reset") }

// Close closes the connection below, ends all calls that wait, and returns
// when the goroutine of this Conn, if it has one, is gone. What has arrived
// and was not read is lost. A second Close returns net.ErrClosed.
func (c *Conn) Close() error {
	var err error
	if c.closed.Swap(true) {
		err = c.fail("close", net.ErrClosed)
	} else if first := c.end(net.ErrClosed); first {
		err = c.inner.Close()
	} else {
		c.inner.Close() // a reset has closed it, or the other end's reset has not
	}
	if c.pumped != nil {
		<-c.pumped
	}
	return err
}

// end starts to end the connection, for a reason; only the first call counts.
func (c *Conn) end(reason error) (first bool) {
	c.made()
	c.endOnce.Do(func() {
		c.reason = reason
		close(c.ended)
		first = true
	})
	return first
}

// cause returns why the connection ended from this side, nil if it did not.
func (c *Conn) cause() error {
	c.made()
	select {
	case <-c.ended:
	default:
		return nil
	}
	if c.closed.Load() {
		return net.ErrClosed
	}
	return c.reason
}

// resetBecause resets the connection and returns the reason that it then has.
func (c *Conn) resetBecause(format string, args ...any) error {
	if c.end(resetError(fmt.Sprintf(format, args...))) {
		// Before the close: a goroutine that it wakes must find the reason.
		if c.peer != nil {
			c.peer.end(resetError("by the other end"))
		}
		if tcp, ok := c.inner.(interface{ SetLinger(int) error }); ok {
			tcp.SetLinger(0) // closing sends a reset then
		}
		c.inner.Close()
	}
	return c.cause()
}

func resetError(how string) error {
	return fmt.Errorf("%w %s: %w", ErrReset, how, syscall.ECONNRESET)
}

// explain replaces an error that is there only because this side has ended.
func (c *Conn) explain(op string, err error) error {
	if err == nil {
		return nil
	}
	if cause := c.cause(); cause != nil {
		return c.fail(op, cause)
	}
	return err
}

// fail says where err happened.
func (c *Conn) fail(op string, err error) error {
	e := &net.OpError{Op: op, Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
	if e.Source != nil {
		e.Net = e.Source.Network()
	}
	return e
}
