package netsim

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A Conn is a net.Conn over another that behaves as its Options say. Latency,
// jitter and incoming bandwidth are added where bytes arrive, outgoing
// bandwidth where they are written: nothing is in flight on the way out, so that Close
// loses nothing that Write has accepted.
//
// Deadlines work as on any net.Conn, also while a limit makes a call wait,
// and Close ends all such waits. Errors that come from the Conn itself are
// *net.OpError around os.ErrDeadlineExceeded, net.ErrClosed or [ErrReset]; those of
// the connection below are passed on as they are.
//
// It does not embed the inner connection: its other methods, SyscallConn
// above all, would lead around the Conn.
type Conn struct {
	inner net.Conn
	peer  *Conn // the other end of a Pipe

	reading, writing chan struct{} // held during a Read, a Write; channels for the sake of synctest
	in, out          way
	line             pacer   // of Out; the one of In belongs to the pump
	flight           *flight // nil when nothing is delayed

	readBy, writeBy deadline

	endOnce sync.Once
	ended   chan struct{} // closed when the connection ends from this side
	reason  error         // why; written before ended is closed
	closed  atomic.Bool
	pumped  chan struct{} // closed when the pump has returned; nil without one
}

// way is what a Conn knows of one direction. It belongs to who holds reading
// or writing.
type way struct {
	Direction
	name          string
	sizes, chance *rand.Rand
	done          int64 // bytes
}

// Purposes of random numbers, for newRand. A Table has 0.
const (
	purposeInSizes = 1 + iota
	purposeOutSizes
	purposeInChance
	purposeOutChance
	purposeJitter
)

// NewConn returns a Conn over inner, which is transferred: nobody else may use
// it, and closing the Conn closes it. A goroutine runs until then, or until inner ends, if the
// options delay what comes in. NewConn panics on options out of range.
func NewConn(inner net.Conn, o Options) *Conn {
	o.check()
	c := &Conn{
		inner:   inner,
		reading: make(chan struct{}, 1),
		writing: make(chan struct{}, 1),
		in:      way{o.In, "in", newRand(o.Seed, purposeInSizes), newRand(o.Seed, purposeInChance), 0},
		out:     way{o.Out, "out", newRand(o.Seed, purposeOutSizes), newRand(o.Seed, purposeOutChance), 0},
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

// Read implements net.Conn. It borrows p until it returns.
func (c *Conn) Read(p []byte) (int, error) {
	if err := c.hold(c.reading); err != nil {
		return 0, c.fail("read", err)
	}
	defer func() { <-c.reading }()
	if err := c.cause(); err != nil {
		return 0, c.fail("read", err)
	}
	if len(p) == 0 {
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
		n, err := c.inner.Read(p)
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
	if err := c.hold(c.writing); err != nil {
		return 0, c.fail("write", err)
	}
	defer func() { <-c.writing }()
	for {
		// Also before an empty Write, but not after the last piece: a Write that
		// passed everything on has succeeded, whatever happened since.
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
		m, err := c.inner.Write(p[n : n+size])
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

// Reset breaks the connection off, as a machine does that was switched off and
// on: calls that wait and all later ones fail with [ErrReset], on this side and,
// for a Pipe or TCP, on the other. Over another kind of connection the other
// side sees whatever closing looks like there. Close is still to be called.
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
func (c *Conn) LocalAddr() net.Addr { return c.inner.LocalAddr() }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.inner.RemoteAddr() }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
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

// pump brings what arrives from the inner connection into the flight.
func (c *Conn) pump(o Options) {
	defer close(c.pumped)
	line := newPacer(o.In.Bandwidth)
	jitter := newRand(o.Seed, purposeJitter)
	var last time.Time
	empty := 0
	for {
		space := c.flight.space()
		if len(space) == 0 {
			select {
			case <-c.flight.room:
				continue
			case <-c.ended:
				return
			}
		}
		n, err := c.inner.Read(space[:min(len(space), line.most())])
		if empty++; n > 0 {
			empty = 0
		} else if err == nil && empty < 100 {
			continue
		} else if err == nil {
			err = io.ErrNoProgress
		}
		at := line.send(line.start(time.Now()), n).Add(o.Latency)
		if o.Jitter > 0 {
			at = at.Add(time.Duration(jitter.Int64N(int64(o.Jitter))))
		}
		if at.Before(last) {
			at = last
		}
		last = at
		c.flight.put(n, err, at)
		if err != nil {
			return
		}
	}
}

// hold takes one of the two locks, or returns why the connection ended.
func (c *Conn) hold(lock chan struct{}) error {
	select {
	case lock <- struct{}{}:
		return nil
	case <-c.ended:
		return c.cause()
	}
}

// end is the beginning of the end, for a reason; only the first counts.
func (c *Conn) end(reason error) (first bool) {
	c.endOnce.Do(func() {
		c.reason = reason
		close(c.ended)
		first = true
	})
	return first
}

// cause returns why the connection ended from this side, nil if it did not.
func (c *Conn) cause() error {
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
		// Before the close: whoever it wakes must find the reason.
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

// unlucky draws whether the connection is reset now.
func (w *way) unlucky() bool {
	return w.ResetChance > 0 && w.chance.Float64() < w.ResetChance
}

// next returns how many of n bytes may go through in one piece.
func (w *way) next(n int) int {
	if w.Sizes.Max > 0 {
		n = min(n, w.Sizes.draw(w.sizes))
	}
	if w.ResetAfter > 0 {
		n = int(min(int64(n), w.ResetAfter-w.done))
	}
	return n
}

// count enters n bytes that went through, and says whether they were the last.
func (w *way) count(n int) (last bool) {
	w.done += int64(n)
	return w.ResetAfter > 0 && w.done >= w.ResetAfter
}
