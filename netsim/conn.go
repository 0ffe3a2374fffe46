package netsim

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// A Conn is a net.Conn over another that behaves as its Options say. Latency,
// jitter and incoming bandwidth are added where bytes arrive, outgoing
// bandwidth where they are written: nothing is in flight on the way out, so
// that Close loses nothing that Write has accepted.
//
// Deadlines work as on any net.Conn, also while a limit makes a call wait, and
// Close ends all such waits. Errors that come from the Conn itself are
// *net.OpError around os.ErrDeadlineExceeded, net.ErrClosed or [ErrReset];
// those of the connection below are passed on as they are.
//
// It does not embed the inner connection: the other methods of that, above all
// SyscallConn, would bypass the Conn.
type Conn struct {
	inner net.Conn
	peer  *Conn // the other end of a Pipe

	// Full during a Read, a Write. Not mutexes: on those synctest does not see
	// a goroutine wait, and stops the clock that the holder waits for.
	reading, writing chan struct{}

	in, out way
	line    pacer   // of Out; the one of In belongs to the pump
	flight  *flight // nil when nothing is delayed

	readBy, writeBy deadline

	endOnce sync.Once
	ended   chan struct{} // closed when the connection ends from this side
	reason  error         // why; written before ended is closed
	closed  atomic.Bool
	pumped  chan struct{} // closed when the pump has returned; nil without one
}

// NewConn returns a Conn over inner, which is transferred: no other code may use
// it, and closing the Conn closes it. A goroutine runs until then, or until
// inner ends, if the options delay what comes in. NewConn panics on options
// out of range.
func NewConn(inner net.Conn, o Options) *Conn {
	o.check()
	if inner == nil {
		panic("netsim: NewConn(nil)")
	}
	c := &Conn{
		inner:   inner,
		reading: make(chan struct{}, 1),
		writing: make(chan struct{}, 1),
		in:      way{o.In, newRand(o.Seed, purposeInSizes), newRand(o.Seed, purposeInChance), 0},
		out:     way{o.Out, newRand(o.Seed, purposeOutSizes), newRand(o.Seed, purposeOutChance), 0},
		line:    newPacer(o.Out.Bandwidth),
		ended:   make(chan struct{}),
	}
	if o.Latency > 0 || o.Jitter > 0 || o.In.Bandwidth > 0 {
		window := o.Window
		if window == 0 {
			window = defaultWindow
		}
		c.flight = newFlight(window)
		c.pumped = make(chan struct{})
		// Deadlines are for taking out of the flight from now on.
		inner.SetReadDeadline(time.Time{})
		go c.pump(o)
	}
	return c
}

func (c *Conn) made() {
	if c.inner == nil {
		panic("netsim: Conn that NewConn and Pipe have not made")
	}
}

// Read implements net.Conn. It borrows p until it returns. An empty p waits for nothing, and
// fails as others do after Close, a reset or a passed deadline.
func (c *Conn) Read(p []byte) (int, error) {
	c.made()
	c.reading <- struct{}{}
	defer func() { <-c.reading }()
	if err := c.cause(); err != nil {
		return 0, c.fail("read", err)
	}
	if len(p) == 0 {
		if c.readBy.passed() {
			return 0, c.fail("read", os.ErrDeadlineExceeded)
		}
		return 0, nil
	}
	if c.in.unlucky() {
		return 0, c.fail("read", c.resetBecause("by chance after %d bytes in", c.in.done))
	}
	n, err := c.read(p[:c.in.next(len(p))])
	if c.in.count(n) {
		c.resetBecause("after %d bytes in", c.in.done)
	}
	return n, err
}

// read reads within all bounds.
func (c *Conn) read(p []byte) (int, error) {
	if c.flight == nil {
		n, err := c.readInner(p)
		return n, c.explain("read", err)
	}
	if c.readBy.passed() {
		return 0, c.fail("read", os.ErrDeadlineExceeded)
	}
	for {
		n, next, err := c.flight.take(p, time.Now())
		if n > 0 || err != nil {
			return n, c.explain("read", err)
		}
		if err := c.wait(&c.readBy, next, c.flight.arrived); err != nil {
			return 0, c.fail("read", err)
		}
	}
}

// Write implements net.Conn. It borrows p until it returns; when it returns
// an error it says how many bytes were passed on.
func (c *Conn) Write(p []byte) (n int, err error) {
	c.made()
	c.writing <- struct{}{}
	defer func() { <-c.writing }()
	for {
		// Also before an empty Write, but not after the last piece: a Write
		// that passed everything on has succeeded, whatever happened since.
		if err := c.cause(); err != nil {
			return n, c.fail("write", err)
		}
		if len(p) == 0 {
			return 0, nil
		}
		if c.out.unlucky() {
			return n, c.fail("write", c.resetBecause("by chance after %d bytes out", c.out.done))
		}
		size := min(c.out.next(len(p)-n), c.line.most())
		start := c.line.start(time.Now())
		if err := c.wait(&c.writeBy, start, nil); err != nil {
			return n, c.fail("write", err)
		}
		m, err := c.writeInner(p[n : n+size])
		c.line.send(start, m)
		n += m
		if c.out.count(m) {
			c.resetBecause("after %d bytes out", c.out.done)
		}
		if n == len(p) || err != nil {
			return n, c.explain("write", err)
		}
	}
}

// CloseWrite ends the outgoing stream, if the connection below can do that:
// over net.Pipe, say, it returns an error that matches errors.ErrUnsupported.
func (c *Conn) CloseWrite() error {
	if err := c.cause(); err != nil {
		return c.fail("close", err)
	}
	half, ok := c.inner.(interface{ CloseWrite() error })
	if !ok {
		return c.fail("close", errors.ErrUnsupported)
	}
	return half.CloseWrite()
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr {
	c.made()
	return c.inner.LocalAddr()
}

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr {
	c.made()
	return c.inner.RemoteAddr()
}

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error {
	if err := c.cause(); err != nil {
		return c.fail("set", err)
	}
	c.readBy.set(t)
	if c.flight != nil {
		return nil
	}
	return c.inner.SetReadDeadline(t)
}

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	if err := c.cause(); err != nil {
		return c.fail("set", err)
	}
	c.writeBy.set(t)
	return c.inner.SetWriteDeadline(t)
}
