//go:build unix && !aix && !solaris && !illumos

package aio

import (
	"context"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

func (p *readiness) submit(name net.Conn, r request) error {
	c, err := p.find(name)
	if err == nil {
		c.mu.Lock()
		if r.kind.isWrite() {
			err = p.submitWrite(c, name, &r)
		} else {
			err = p.submitRead(c, name, &r)
		}
		c.mu.Unlock()
	}
	if err != nil {
		r.refuse()
		if p.options.ErrorsComplete && name != nil {
			return p.completeRefused(name, &r, err)
		}
	}
	return err
}

// completeRefused completes what could not be submitted because of err, unless that
// is the watcher's own.
func (p *readiness) completeRefused(name net.Conn, r *request, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.draining {
		return ErrWatcherClosed
	}
	*p.completed.add() = r.ended(name, err)
	if r.kind.isWrite() {
		p.counters.Writes++
	} else {
		p.counters.Reads++
	}
	p.wake()
	return nil
}

// submitRead queues a read and tries it. Called with c.mu.
func (p *readiness) submitRead(c *conn, name net.Conn, r *request) error {
	if c.closed {
		return p.closedError()
	}
	o := c.newOp(r)
	c.name = name
	c.reads.push(o)
	if !p.attachEnd(c, o, r) {
		return nil
	}
	if c.reads.head() == o && c.ready&canRead != 0 {
		p.progressReads(c, false)
	}
	return nil
}

// submitWrite writes at once what goes, and queues the rest. Called with c.mu.
func (p *readiness) submitWrite(c *conn, name net.Conn, r *request) error {
	if c.closed {
		return p.closedError()
	}
	if r.kind == writeBytes && c.writes.tail == nil && c.ready&canWrite != 0 && r.deadline.IsZero() && r.cancel == nil {
		// The usual write: it goes out whole, and was never an op.
		n, err := p.tryWrite(c, r.buf)
		if n == len(r.buf) || err != nil && err != unix.EAGAIN {
			p.mu.Lock()
			p.addWrite(name, r.ctx, r.buf, n, err)
			p.mu.Unlock()
			return nil
		}
		p.blockedWrites(c)
		return p.queueWrite(c, name, r, n)
	}
	return p.queueWrite(c, name, r, 0)
}

// queueWrite queues a write of which done bytes are out, and tries it if it is the
// first. Called with c.mu.
func (p *readiness) queueWrite(c *conn, name net.Conn, r *request, done int) error {
	size, held := r.length(), r.holds(p.options.Allocator)
	waits := c.writes.tail != nil
	if waits {
		more := held
		if r.kind == writeBytes {
			more = max(size, p.loan.holds(r.buf))
		}
		if limit := p.options.QueueLimit; limit > 0 && more > limit-c.held {
			return p.overLimit(c, size, more)
		}
		r.compact(p.options.Allocator)
	}
	o := c.newOp(r)
	o.size, o.done = size, done
	if r.kind != writeBytes {
		o.more = spareMores.Get().(*opMore)
		o.more.single, o.more.memory, o.more.held = r.single, r.memory, held //sluice:moved
	} else if lent, p, held := p.loan.hold(r.buf); lent.Valid() {
		o.buf = p
		o.more = spareMores.Get().(*opMore)
		o.more.single, o.more.held = lent, held //sluice:moved
	}
	c.name = name
	c.writes.push(o)
	c.held += o.holds()
	p.mu.Lock()
	p.writes++
	p.mu.Unlock()
	if !p.attachEnd(c, o, r) {
		return nil
	}
	if !waits {
		p.progressWrites(c)
		if c.writes.tail == o {
			p.compactWaiting(o)
		}
	}
	return nil
}

// tryWrite writes until all is out, or the socket takes no more: EAGAIN then.
func (p *readiness) tryWrite(c *conn, buf []byte) (n int, err error) {
	for n < len(buf) {
		p.writeCalls.Add(1)
		k, err := c.write(buf[n:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return n, err
		case k == 0:
			return n, io.ErrUnexpectedEOF
		}
		n += k
		if n < len(buf) && c.stream {
			return n, unix.EAGAIN
		}
	}
	return n, nil
}

// compactWaiting is request.compact for a write that has to wait after all.
func (p *readiness) compactWaiting(o *op) {
	if o.kind == writeBytes {
		return
	}
	r := request{kind: o.kind, single: o.more.single, memory: o.more.memory} //sluice:moved
	r.compact(p.options.Allocator)
	o.kind, o.more.single, o.more.memory = r.kind, r.single, r.memory //sluice:moved
}

// overLimit refuses a write of size bytes that would hold so many more, by the
// watcher's policy. Called with c.mu.
func (p *readiness) overLimit(c *conn, size, more int) error {
	err := &queueFullError{size: size, more: more, held: c.held, limit: p.options.QueueLimit}
	p.mu.Lock()
	p.counters.Refused++
	closing := p.options.QueuePolicy == QueueClose
	if closing {
		p.counters.Slow++
	}
	p.mu.Unlock()
	if closing {
		p.drop(c, ErrQueueFull)
	}
	return err
}

// attachEnd registers what may end o early. It returns false when that has
// happened already. Called with c.mu; o is in its queue.
func (p *readiness) attachEnd(c *conn, o *op, r *request) bool {
	if r.cancel != nil {
		if r.cancel.Err() != nil {
			p.endNow(c, o, context.Cause(r.cancel))
			return false
		}
		p.attend(c, o, r.cancel)
	}
	if r.deadline.IsZero() {
		return true
	}
	o.when = int64(r.deadline.Sub(p.start))
	if time.Until(r.deadline) <= 0 {
		p.endNow(c, o, ErrDeadline)
		return false
	}
	p.mu.Lock()
	p.timers.push(c, o)
	if p.parked && p.armed != deadlinePassed {
		p.arm()
	}
	p.mu.Unlock()
	return true
}

// endNow completes o with err. Called with c.mu.
func (p *readiness) endNow(c *conn, o *op, err error) {
	if o.kind.isWrite() {
		p.completeWrite(c, o, err)
	} else {
		p.completeRead(c, o, result{err: err})
	}
}

// closedError says why a connection that a submission has found is closed.
func (p *readiness) closedError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrWatcherClosed
	}
	return ErrConnClosed
}
