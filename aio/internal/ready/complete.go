//go:build unix && !aix && !solaris && !illumos

package ready

import (
	"net"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/mem"
)

// outcome is the result of a read, apart from what its task holds.
type outcome struct {
	err     error
	buffer  []byte // in place of task.buf
	leased  bool   // buffer is the watcher's own
	counted mem.Buf
}

// completeRead ends the read t of c, which is in its queue. Called with c.mu.
func (d *Driver) completeRead(c *conn, t *task, r outcome) {
	c.reads.remove(t)
	d.mu.Lock()
	d.timers.remove(t)
	res := d.done.Add()
	res.Operation = op.Read
	res.Context, res.Conn = t.ctx, c.name
	res.Buffer = t.buf
	if r.buffer != nil {
		res.Buffer = r.buffer
	}
	res.IsSwapBuffer = r.leased
	res.Size = t.done
	res.Error = r.err
	res.Buf = r.counted //sluice:moved
	d.counters.Reads++
	d.counters.BytesRead += uint64(t.done)
	d.wake()
	d.mu.Unlock()
	c.freeTask(t)
}

// completeWrite ends the write t of c, which is in its queue. Called with c.mu.
func (d *Driver) completeWrite(c *conn, t *task, err error) {
	c.writes.remove(t)
	c.held -= t.holds()
	d.mu.Lock()
	d.timers.remove(t)
	if t.quiet && err == nil {
		d.countWrite(t.done)
	} else {
		buf := t.buf
		if t.quiet {
			buf = nil // it is not the program's
		}
		d.addWrite(c.name, t.ctx, buf, t.done, err)
	}
	d.life.wrote(err)
	d.mu.Unlock()
	d.releaseTransferred(t)
	c.freeTask(t)
}

// releaseTransferred gives back the memory of a write that has ended.
func (d *Driver) releaseTransferred(t *task) {
	switch {
	case t.more == nil:
	case t.more.memory != nil:
		d.releaseMemory(t.more.memory)
		t.more.memory = nil
	case !t.more.single.Valid():
	case t.kind == op.WriteBytes:
		d.leased.LetGo(t.more.single)
		t.more.single = mem.Buf{}
	default:
		d.releaseBuf(t.more.single) //sluice:moved
		t.more.single = mem.Buf{}
	}
}

// complete ends t, which is in a queue of c, with err. Called with c.mu.
func (d *Driver) complete(c *conn, t *task, err error) {
	if t.kind.IsWrite() {
		d.completeWrite(c, t, err)
	} else {
		d.completeRead(c, t, outcome{err: err})
	}
}

// completeAll ends everything that is pending on c with err. Called with c.mu.
func (d *Driver) completeAll(c *conn, err error) {
	for c.reads.tail != nil {
		d.completeRead(c, c.reads.head(), outcome{err: err})
	}
	for c.writes.tail != nil {
		d.completeWrite(c, c.writes.head(), err)
	}
}

// completeEarly ends an operation before its time. It does nothing when t is not in a
// queue of c any more.
func (d *Driver) completeEarly(c *conn, t *task, seq uint32, err error) {
	c.mu.Lock()
	defer d.unlock(c)
	if t.is(seq) {
		d.complete(c, t, err)
	}
}

// completeRefused completes an operation that could not be submitted because of err,
// unless err is the watcher's own.
func (d *Driver) completeRefused(name net.Conn, r *op.Request, err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.life.ending() {
		return op.ErrWatcherClosed
	}
	*d.done.Add() = r.Ended(name, err)
	d.counters.Count(r.Kind)
	d.wake()
	return nil
}

// addWrite adds a completed write. Called with mu.
func (d *Driver) addWrite(name net.Conn, ctx any, buf []byte, n int, err error) {
	res := d.done.Add()
	res.Operation = op.Write
	res.Context, res.Conn = ctx, name
	res.Buffer = buf
	res.Size = n
	res.Error = err
	d.countWrite(n)
	d.wake()
}

// countWrite counts a write of n bytes that has ended. Called with mu.
func (d *Driver) countWrite(n int) {
	d.counters.Writes++
	d.counters.BytesWritten += uint64(n)
}
