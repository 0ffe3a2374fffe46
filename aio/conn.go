package aio

import (
	"crypto/tls"
	"io"
	"net"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/mem"
)

// Conn is a connection of a ConnHandler. Write, WriteBuf, Close, Do and the addresses
// may be used from any goroutine; the rest is for the callbacks of connections of the
// same watcher, and for Do.
type Conn[S any] struct {
	// State is the program's. It is not touched here.
	State S

	handler *ConnHandler[S]
	watcher *Watcher
	name    [1]net.Conn
	secure  *secure[S] // nil without TLS
	pace    *Conn[S]   // nil: itself
	reason  error

	phase   phase
	opened  bool // Open has been called
	pending bool // a read or a flush is under way
	paused  bool
}

// phase is how far a connection is.
type phase uint8

const (
	serves    phase = iota
	finishing       // what was written goes out, then it is closed
	gone
)

// Write sends p, borrowed until it returns. It never blocks: bytes that the socket does
// not take are copied and queued, within Options.QueueLimit. After an error nothing was
// written: ErrQueueFull, ErrConnClosed. A later failure closes the connection.
//
// Over TLS a write beyond the limit closes the connection with ErrQueueFull, since its
// bytes are encrypted by then.
func (c *Conn[S]) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if c.secure != nil {
		return c.secure.write(p)
	}
	if err := c.submit(op.Request{Kind: op.WriteBytes, Buf: p, Lent: true, Quiet: true}); err != nil {
		return 0, err
	}
	return len(p), nil
}

// WriteBuf is Write of b, which is transferred, also when WriteBuf returns an error. It
// is not copied, except over TLS.
func (c *Conn[S]) WriteBuf(b mem.Buf) error {
	if c.secure != nil || b.Len() == 0 {
		defer b.Release()
		_, err := c.Write(b.Bytes())
		return err
	}
	return c.submit(op.Request{Kind: op.WriteBuf, Single: b, Quiet: true}) //sluice:moved
}

// submit submits a write. What fails completes with c.
func (c *Conn[S]) submit(r op.Request) error {
	r.Ctx = c
	return c.watcher.driver.Submit(c.name[0], r)
}

// Queued returns how much memory the queued writes hold, in bytes.
func (c *Conn[S]) Queued() int { return c.watcher.driver.Held(c.name[0]) }

// Close closes the connection when all queued bytes are sent, after WriteTimeout at the
// latest. It returns at once; Closed is called with net.ErrClosed.
func (c *Conn[S]) Close() error { return c.fail(nil) }

// fail posts the close of the connection: at once because of err, or as Close does when
// err is nil.
func (c *Conn[S]) fail(err error) error {
	return c.watcher.driver.Post((*closing[S])(c), nil, err)
}

// Do calls f on the goroutine that makes the callbacks of this connection. When it
// returns an error, ErrWatcherClosed, f is not called.
func (c *Conn[S]) Do(f func()) error {
	return c.watcher.driver.Post(f, nil, nil)
}

// Pause stops reading from c, so that Data is not called any more. It may be called once
// more if Pause is called outside Open and Data of c. While c is paused the end of the
// connection is noticed only by a failed write.
func (c *Conn[S]) Pause() { c.paused = true }

// Resume ends a Pause.
func (c *Conn[S]) Resume() {
	c.paused = false
	if c.secure == nil || c.secure.resume() {
		c.proceed()
	}
}

// PaceBy makes reading from c depend on other, a connection of the same watcher to which
// the bytes of c are passed on: c is read from only while no bytes are queued for other's
// peer. Bytes queued for c's own peer do not count any more.
func (c *Conn[S]) PaceBy(other *Conn[S]) { c.pace = other }

// Attach makes the watcher of c serve conn, transferred, with the same callbacks and
// without TLS: for example the other side of a gateway. Open is not called.
func (c *Conn[S]) Attach(conn net.Conn, state S) *Conn[S] {
	n := &Conn[S]{State: state, handler: c.handler, watcher: c.watcher, name: [1]net.Conn{conn}, opened: true}
	n.proceed()
	return n
}

// RemoteAddr returns the peer's address.
func (c *Conn[S]) RemoteAddr() net.Addr { return c.name[0].RemoteAddr() }

// LocalAddr returns the address of this end.
func (c *Conn[S]) LocalAddr() net.Addr { return c.name[0].LocalAddr() }

// ConnectionState returns the result of the TLS handshake; ok is false without TLS.
func (c *Conn[S]) ConnectionState() (state tls.ConnectionState, ok bool) {
	if c.secure == nil {
		return state, false
	}
	return c.secure.session.State(), true
}

// open calls Open.
func (c *Conn[S]) open() {
	c.opened = true
	if c.handler.Open == nil {
		return
	}
	if err := c.handler.Open(c); err != nil {
		c.finish(err)
	}
}

// proceed submits the next operation: a read or, while writes are queued, a wait for
// their end.
func (c *Conn[S]) proceed() {
	if c.pending || c.paused || c.phase != serves {
		return
	}
	pace := c
	if c.pace != nil && c.pace.phase == serves {
		pace = c.pace
	}
	var err error
	if pace.Queued() > 0 {
		err = pace.watcher.driver.Submit(pace.name[0], op.Request{
			Kind: op.Flush, Ctx: (*flushed[S])(c), Deadline: deadline(c.handler.WriteTimeout),
		})
	} else {
		r := op.Request{Kind: op.ReadLeased, Ctx: c, Deadline: deadline(c.handler.IdleTimeout)}
		if c.secure != nil {
			until := c.secure.until
			if c.secure.early = !c.opened && (r.Deadline.IsZero() || until.Before(r.Deadline)); c.secure.early {
				r.Deadline = until
			}
		}
		if c.handler.Buf != nil && c.secure == nil {
			r.Kind = op.ReadCounted
		}
		err = c.watcher.driver.Submit(c.name[0], r)
	}
	if err != nil {
		c.end(err)
		return
	}
	c.pending = true
}

// read handles the completion of a read.
func (c *Conn[S]) read(r *OpResult) {
	c.pending = false
	if c.phase != serves {
		if r.Buf.Valid() {
			r.Buf.Release()
		}
		return
	}
	var err error
	switch {
	case r.Size == 0:
	case c.secure != nil:
		err = c.secure.received(r.Buffer)
	case c.handler.Buf != nil:
		err = c.handler.Buf(c, r.Buf) //sluice:moved
	default:
		err = c.handler.Data(c, r.Buffer)
	}
	if err == nil && r.Error != nil {
		err = r.Error
		if c.secure != nil {
			err = c.secure.ended(err)
		}
	}
	switch {
	case err == nil:
		c.proceed()
	case err == r.Error && err != io.EOF && err != ErrDeadline:
		c.end(err)
	default:
		c.finish(err)
	}
}

// flushed goes on when the writes that were waited for are out.
func (c *Conn[S]) flushed(err error) {
	c.pending = false
	switch {
	case c.phase == finishing: // this one was submitted before the last writes: drained ends c
	case c.phase == serves && err == nil:
		c.proceed()
	case c.phase == serves && c.pace != nil:
		c.pace.end(err)
		c.proceed()
	case c.phase == serves:
		c.end(err)
	}
}

// finish closes the connection because of reason when what was written is out.
func (c *Conn[S]) finish(reason error) {
	if c.phase != serves {
		return
	}
	if c.secure != nil {
		_ = c.secure.session.CloseWrite()
	}
	c.reason = reason
	if c.Queued() == 0 {
		c.end(reason)
		return
	}
	c.phase = finishing
	limit := c.handler.WriteTimeout
	if limit == 0 {
		limit = DefaultGrace
	}
	if err := c.watcher.driver.Submit(c.name[0], op.Request{
		Kind: op.Flush, Ctx: (*drained[S])(c), Deadline: deadline(limit),
	}); err != nil {
		c.end(reason)
	}
}

// broken closes the connection after a write has failed with err.
func (c *Conn[S]) broken(err error) {
	if c.phase == finishing {
		err = c.reason
	}
	c.end(err)
}

// end closes the connection because of reason.
func (c *Conn[S]) end(reason error) {
	if c.phase == gone {
		return
	}
	c.phase = gone
	h := c.handler
	if c.opened && h.Closed != nil {
		h.Closed(c, reason)
	} else if !c.opened && h.Refused != nil {
		h.Refused(c.RemoteAddr(), reason)
	}
	if c.secure != nil {
		c.secure.release()
	}
	if !serverEnds(reason) {
		_ = c.watcher.Free(c.name[0])
	}
}
