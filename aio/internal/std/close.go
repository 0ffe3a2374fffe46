package std

import (
	"context"
	"net"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
)

// closeWait bounds how long closing the watcher waits for connections whose
// Close does not end their Read and Write, as net.Conn says it does. crypto/tls
// takes up to 5 s for its goodbye.
const closeWait = 10 * time.Second

// Close returns when no goroutine is left, or after closeWait, when what a
// stuck connection has of buffers stays there.
func (d *Driver) Close() {
	d.mu.Lock()
	if d.life.state >= closing {
		d.mu.Unlock()
		<-d.life.ended
		return
	}
	d.life.state = closing
	d.life.goroutines++
	d.ownSwaps()
	conns := make(map[net.Conn]bool) // whether a write is cut short
	for conn := range d.table.known.idle(d.table.busy) {
		conns[conn] = false
	}
	for conn := range conns {
		d.table.known.free(conn)
		d.counters.Freed++
	}
	for conn, c := range d.table.conns {
		if c.ending == nil {
			conns[conn] = d.end(c, op.ErrWatcherClosed)
		}
	}
	d.life.goroutines += len(conns)
	d.mu.Unlock()
	for conn, cut := range conns {
		go d.closeConn(conn, cut)
	}

	d.mu.Lock()
	d.exit()
	d.mu.Unlock()
	timer := time.NewTimer(closeWait)
	defer timer.Stop()
	select {
	case <-d.life.gone:
	case <-timer.C:
	}
	d.mu.Lock()
	d.life.state = closed
	if d.life.writes > 0 {
		d.life.cut = true // with what is stuck
	}
	d.checkDrained()
	d.mu.Unlock()
	close(d.life.ended)
	d.more.Broadcast()
}

// Shutdown closes after the pending writes are out, or ctx is done.
func (d *Driver) Shutdown(ctx context.Context) error {
	d.mu.Lock()
	if d.life.state == open {
		d.life.state = draining
		d.life.drained = make(chan struct{})
		d.checkDrained()
	}
	if d.life.state != draining {
		d.mu.Unlock()
		d.Close()
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.life.cut {
			return op.ErrWatcherClosed
		}
		return nil
	}
	var reads []*operation
	for _, c := range d.table.conns {
		for _, o := range c.reads.flight {
			if o.phase == inFlight && o.err == nil {
				o.err = op.ErrWatcherClosed
				reads = append(reads, o)
			}
		}
	}
	drained := d.life.drained
	d.mu.Unlock()
	for _, o := range reads {
		o.dir.interrupt(o)
	}
	select {
	case <-drained:
	case <-ctx.Done():
	}
	d.mu.Lock()
	first := d.life.state == draining
	d.mu.Unlock()
	d.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case !d.life.cut:
		return nil
	case first && ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return op.ErrWatcherClosed
}
