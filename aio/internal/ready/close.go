//go:build unix && !aix && !solaris && !illumos

package ready

import (
	"context"

	"github.com/sluice-go/sluice/aio/internal/op"
)

// Close closes the watcher and all its connections. It returns when all pending
// operations have been completed. Only then it releases memory of the program, whose function
// may call Close.
func (d *Driver) Close() {
	d.mu.Lock()
	if d.life.closed {
		d.mu.Unlock()
		<-d.life.gone
		return
	}
	d.life.closed = true
	d.life.refusing.Store(true)
	d.mu.Unlock()
	for _, c := range d.all() {
		c.mu.Lock()
		d.drop(c, op.ErrWatcherClosed)
		c.mu.Unlock()
	}
	close(d.life.gone)
	defer d.releaseForeign()
	d.poller.Close()
	if d.round.lock.TryLock() {
		d.round.counted.End()
		d.round.lock.Unlock()
	}
}

// all returns the connections that there are.
func (d *Driver) all() []*conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.table.all()
}

// Shutdown closes after the queued writes are out, or ctx is done.
func (d *Driver) Shutdown(ctx context.Context) error {
	d.mu.Lock()
	if d.life.closed {
		d.mu.Unlock()
		<-d.life.gone
		return d.cutError()
	}
	d.life.draining = true
	d.life.refusing.Store(true)
	d.mu.Unlock()
	for _, c := range d.all() {
		c.mu.Lock()
		for c.reads.tail != nil {
			d.completeRead(c, c.reads.head(), outcome{err: op.ErrWatcherClosed})
		}
		c.mu.Unlock()
	}
	defer d.Close()
	d.mu.Lock()
	if d.life.writes == 0 {
		d.mu.Unlock()
		return d.cutError()
	}
	if d.life.drained == nil {
		d.life.drained = make(chan struct{})
	}
	drained := d.life.drained
	d.mu.Unlock()
	select {
	case <-drained:
	case <-d.life.gone:
	case <-ctx.Done():
		d.mu.Lock()
		first := !d.life.closed
		d.mu.Unlock()
		d.Close()
		if err := d.cutError(); err == nil || !first {
			return err
		}
		return context.Cause(ctx)
	}
	return d.cutError()
}

// cutError returns an error when Close has ended a queued write.
func (d *Driver) cutError() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.life.cut {
		return op.ErrWatcherClosed
	}
	return nil
}

// Counters returns the current counters.
func (d *Driver) Counters() op.Counters {
	var pending int
	var queued, held int64
	all := d.all()
	listening := 0
	for _, c := range all {
		c.mu.Lock()
		if c.Listens {
			listening++
			c.mu.Unlock()
			continue
		}
		pending += int(c.pending)
		held += int64(c.held)
		queued += int64(c.queued())
		c.mu.Unlock()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.counters
	s.Conns, s.Pending, s.QueuedBytes, s.QueuedHeld = len(all)-listening, pending, queued, held
	s.ReadCalls, s.WriteCalls = d.readCalls.Load(), d.writeCalls.Load()
	return s
}
