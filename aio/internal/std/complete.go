package std

import (
	"bytes"
	"slices"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/mem"
)

// complete hands o back with err. The caller has taken it from where it was,
// and holds mu, which is released for a while if there is something to let go.
func (d *Driver) complete(o *operation, err error) {
	o.phase = ended
	o.stopTimer()
	if o.unwatch != nil || o.Kind == op.WriteBuf || o.Kind == op.WriteMemory || o.Room.Valid() {
		d.mu.Unlock()
		o.discard()
		d.mu.Lock()
	}
	dir, c := o.dir, o.dir.conn
	var r *op.Result
	if !o.Quiet || err != nil {
		r = d.done.Add()
		*r = op.Result{Context: o.Ctx, Conn: c.conn, Buffer: o.Returned(), Size: o.n, Error: err}
	}
	if o.Kind.IsWrite() {
		if r != nil {
			r.Operation = op.Write
		}
		d.counters.Writes++
		d.life.writes--
		if err != nil && d.life.state >= closing {
			d.life.cut = true
		}
		dir.queued -= o.total - o.n
		dir.keeps(-o.holding())
		d.counters.QueuedBytes -= int64(o.total - o.n)
	} else {
		d.counters.Reads++
		d.counters.ReadCalls += uint64(o.calls)
		d.counters.BytesRead += uint64(o.n)
		r.IsSwapBuffer = o.Kind == op.ReadLeased
		d.handOver(o, r)
	}
	// A stopped timer may stay in the runtime's heap, and o with it, until its time
	// has come. That must not keep the program's memory alive.
	o.Request = op.Request{Kind: o.Kind}
	o.out = nil
	d.counters.Pending--
	c.last = d.table.batch
	d.checkDrained()
	d.more.Signal()
}

// handOver puts the memory that o has read into, if it was the watcher's, into r.
func (d *Driver) handOver(o *operation, r *op.Result) {
	if o.block.Valid() {
		r.Buf = o.block //sluice:moved
		o.block = mem.Buf{}
		r.Buffer = r.Buf.Bytes()
	}
	if !o.slab.Valid() {
		return
	}
	r.Buffer = o.slab.Bytes()[:o.n:o.n]
	if d.life.state >= closing {
		// There need not be a next wait that would release it.
		r.Buffer = slices.Clip(bytes.Clone(r.Buffer))
		o.slab.Release()
		return
	}
	d.leases.add(o.slab, r.Buffer)
}

// ownSwaps is what handOver does in closing, for the results that came before.
func (d *Driver) ownSwaps() {
	waiting := d.done.Waiting()
	for i := range waiting {
		if r := &waiting[i]; r.IsSwapBuffer {
			r.Buffer = slices.Clip(bytes.Clone(r.Buffer))
		}
	}
	d.leases.next = d.leases.end(d.leases.next)
}

// exit is the end of a goroutine that life.goroutines counts.
func (d *Driver) exit() {
	d.life.goroutines--
	if d.life.goroutines == 0 && d.life.state == closing {
		close(d.life.gone)
	}
}

// checkDrained notifies Shutdown when there are no writes left, or nothing left to wait
// for.
func (d *Driver) checkDrained() {
	if d.life.drained == nil || d.life.state < closed && d.life.writes > 0 {
		return
	}
	select {
	case <-d.life.drained:
	default:
		close(d.life.drained)
	}
}

// keeps counts n bytes more of memory that pending writes hold.
func (dir *direction) keeps(n int) {
	dir.held += n
	dir.conn.driver.counters.QueuedHeld += int64(n)
}
