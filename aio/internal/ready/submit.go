//go:build unix && !aix && !solaris && !illumos

package ready

import (
	"context"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/aio/internal/poller"
	"github.com/sluice-go/sluice/aio/internal/socket"
)

// Submit tries r on the connection of name, and queues what cannot be done at once. It
// takes over what is transferred in r, also when it fails.
func (d *Driver) Submit(name net.Conn, r op.Request) error {
	c, err := d.lock(name)
	if err == nil {
		if r.Kind.IsWrite() {
			err = d.submitWrite(c, name, &r)
		} else {
			err = d.submitRead(c, name, &r)
		}
		d.unlock(c)
	}
	if err != nil {
		r.Release()
		if d.settings.ErrorsComplete && name != nil {
			return d.completeRefused(name, &r, err)
		}
	}
	return err
}

// submitRead queues a read and tries it. Called with c.mu.
func (d *Driver) submitRead(c *conn, name net.Conn, r *op.Request) error {
	if d.refuses(c) {
		return d.closedError()
	}
	t := c.newTask(r)
	c.name = name
	c.reads.push(t)
	if !d.attachEnd(c, t, r) {
		return nil
	}
	if c.reads.head() == t && c.ready&poller.Readable != 0 {
		d.progressReads(c, false)
	}
	return nil
}

// submitWrite writes at once as much as possible, and queues the rest. Called with c.mu.
func (d *Driver) submitWrite(c *conn, name net.Conn, r *op.Request) error {
	if d.refuses(c) {
		return d.closedError()
	}
	switch {
	case r.Kind.IsMark() && c.writes.tail == nil:
		d.endWrite(name, r, 0, c.pass(name, r.Kind))
		return nil
	case r.Kind != op.WriteBytes || c.writes.tail != nil || c.ready&poller.Writable == 0 || !r.Deadline.IsZero() || r.Cancel != nil:
		d.keepLent(r)
		return d.queueWrite(c, name, r, 0)
	}
	// The usual write: it goes out whole, and was never a task.
	n, err := d.tryWrite(c, r.Buf)
	if n == len(r.Buf) || err != nil && err != unix.EAGAIN {
		d.endWrite(name, r, n, c.failed("write", name, err))
		return nil
	}
	d.blockedWrites(c)
	d.keepLent(r)
	return d.queueWrite(c, name, r, n)
}

// endWrite ends a write of n bytes that was never a task.
func (d *Driver) endWrite(name net.Conn, r *op.Request, n int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.Quiet && err == nil {
		d.countWrite(n)
	} else {
		d.addWrite(name, r.Ctx, r.Returned(), n, err)
	}
}

// keepLent makes a lent write one that may wait. Memory that a read has lent is no exception: the
// program may change it for its next peer.
func (d *Driver) keepLent(r *op.Request) {
	if !r.Lent {
		return
	}
	// All of it, so that the completion of a failure counts what was out before.
	b := d.settings.Allocator.Get(len(r.Buf))
	copy(b.Bytes(), r.Buf)
	r.Kind, r.Single, r.Buf = op.WriteBuf, b, nil //sluice:moved
}

// queueWrite queues a write of which done bytes are out, and tries it if it is the
// first. Called with c.mu.
func (d *Driver) queueWrite(c *conn, name net.Conn, r *op.Request, done int) error {
	if r.Kind == op.WriteMemory && c.IsSocket && !c.Stream && len(r.Memory.Buffers) > socket.MaxParts {
		d.keepUntilUnlock(r)
		r.Join(d.settings.Allocator) // two calls would be two messages
	}
	size, held := r.Length(), r.Holds(d.settings.Allocator)
	waits := c.writes.tail != nil
	if waits {
		more := held
		if r.Kind == op.WriteBytes {
			more = max(size, d.leased.Holds(r.Buf))
		}
		if limit := d.settings.QueueLimit; limit > 0 && !r.Beyond && !r.Kind.IsMark() && more > limit-c.held {
			return d.overLimit(c, size, more)
		}
		d.keepUntilUnlock(r)
		r.Compact(d.settings.Allocator)
	}
	t := c.newTask(r)
	t.size, t.done = size, done
	switch r.Kind {
	case op.Flush, op.EndWrites:
	case op.WriteBytes:
		if lent, p, held := d.leased.Hold(r.Buf); lent.Valid() {
			t.buf = p
			m := t.extend()
			m.single, m.held = lent, held //sluice:moved
		}
	default:
		m := t.extend()
		m.single, m.memory, m.held = r.Single, r.Memory, held //sluice:moved
	}
	c.name = name
	c.writes.push(t)
	c.held += t.holds()
	d.mu.Lock()
	d.life.writes++
	d.mu.Unlock()
	if !d.attachEnd(c, t, r) {
		return nil
	}
	if !waits {
		d.progressWrites(c)
		if c.writes.tail == t {
			d.compact(t)
		}
	}
	return nil
}

// overLimit refuses a write of size bytes that would hold so many more, by the
// watcher's policy. Called with c.mu.
func (d *Driver) overLimit(c *conn, size, more int) error {
	err := &op.QueueFullError{Size: size, More: more, Held: c.held, Limit: d.settings.QueueLimit}
	closing := d.settings.CloseWhenFull
	d.mu.Lock()
	d.counters.Refused++
	if closing {
		d.counters.Slow++
	}
	d.mu.Unlock()
	if closing {
		d.drop(c, op.ErrQueueFull)
	}
	return err
}

// attachEnd registers the deadline or context that may end t early. It returns false
// when t has ended already. Called with c.mu; t is in its queue.
func (d *Driver) attachEnd(c *conn, t *task, r *op.Request) bool {
	if r.Cancel != nil {
		if r.Cancel.Err() != nil {
			d.complete(c, t, context.Cause(r.Cancel))
			return false
		}
		d.attachContext(c, t, r.Cancel)
	}
	if r.Deadline.IsZero() {
		return true
	}
	left := time.Until(r.Deadline)
	if left <= 0 {
		d.complete(c, t, op.ErrDeadline)
		return false
	}
	d.mu.Lock()
	d.timers.push(c, t, in(time.Since(d.start), left))
	d.poller.ArmAsleep(d.timers.next())
	d.mu.Unlock()
	return true
}

// attachContext ends t when ctx is done. Called with c.mu.
func (d *Driver) attachContext(c *conn, t *task, ctx context.Context) {
	seq := t.seq.Load()
	t.extend().stop = context.AfterFunc(ctx, func() { d.completeEarly(c, t, seq, context.Cause(ctx)) })
}
