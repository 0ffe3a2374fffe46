package std

import (
	"bytes"
	"context"
	"net"

	"github.com/sluice-go/sluice/aio/internal/op"
)

// Submit queues r on conn. What r was transferred is taken over, also when it fails.
func (d *Driver) Submit(conn net.Conn, r op.Request) error {
	err := identifiable(conn)
	if err == nil {
		err = d.accept(conn, r)
	} else {
		r.Release()
	}
	if err != nil && d.settings.ErrorsComplete && conn != nil {
		return d.completeRefused(conn, &r, err)
	}
	return err
}

// completeRefused completes an operation that could not be submitted because of err,
// unless err is the watcher's own.
func (d *Driver) completeRefused(conn net.Conn, r *op.Request, err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.life.state != open {
		return op.ErrWatcherClosed
	}
	*d.done.Add() = r.Ended(conn, err)
	d.counters.Count(r.Kind)
	d.more.Signal()
	return nil
}

// accept is Submit for a connection that can be identified.
func (d *Driver) accept(conn net.Conn, r op.Request) error {
	o := &operation{Request: r, out: r.Buf}
	if o.Kind.IsWrite() {
		o.total, o.held = o.Length(), o.Holds(d.settings.Allocator)
		o.Compact(d.settings.Allocator)
	}
	if ctx := o.Cancel; ctx != nil && ctx.Err() != nil {
		o.err = context.Cause(ctx) // AfterFunc would come too late
	} else if ctx != nil {
		o.unwatch = context.AfterFunc(ctx, func() { d.cancelled(o, context.Cause(ctx)) })
	}
	d.mu.Lock()
	slow, err := d.enqueue(conn, o)
	d.mu.Unlock()
	if err != nil {
		o.discard()
	}
	if slow {
		go d.closeConn(conn, true)
	}
	return err
}

// enqueue puts o into its queue. When that fails o has ended. It reports
// whether the connection must be closed because of o; the goroutine for that is counted
// then.
func (d *Driver) enqueue(conn net.Conn, o *operation) (slow bool, err error) {
	if d.life.state != open {
		o.phase = ended
		return false, op.ErrWatcherClosed
	}
	if o.Kind == op.WriteBytes && (o.Lent || d.leases.has(o.out)) {
		// The write may last longer than until the next Wait.
		o.out = bytes.Clone(o.out)
	}
	c := d.find(conn)
	if c == nil || c.ending != nil {
		o.phase = ended
		return false, op.ErrConnClosed
	}
	dir := &c.reads
	if o.Kind.IsWrite() {
		dir = &c.writes
		if limit := d.settings.QueueLimit; limit > 0 && !o.Beyond && dir.queued > 0 && !o.Kind.IsMark() && o.holding() > limit-dir.held {
			o.phase = ended
			d.counters.Refused++
			err = &op.QueueFullError{Size: o.total, More: o.holding(), Held: dir.held, Limit: limit}
			if d.settings.CloseWhenFull {
				d.counters.Slow++
				d.end(c, op.ErrQueueFull)
				d.life.goroutines++
				return true, err
			}
			return false, err
		}
		dir.queued += o.total
		dir.keeps(o.holding())
		d.counters.QueuedBytes += int64(o.total)
		d.life.writes++
	}
	d.counters.Pending++
	o.dir = dir
	switch {
	case o.err != nil:
		d.life.goroutines++
		d.complete(o, o.err)
		d.exit()
		d.settle(c)
	case dir.running:
		dir.pushBack(o)
		d.hold(o)
	default:
		dir.pushBack(o)
		dir.running = true
		d.life.goroutines++
		go dir.run()
	}
	return false, nil
}
