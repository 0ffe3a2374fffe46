//go:build unix && !aix && !solaris && !illumos

package ready

import (
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/aio/internal/socket"
	"github.com/sluice-go/sluice/mem"
)

// task is an operation that waits in a queue.
type task struct {
	next  *task // nil while it is in no queue, as is prev
	prev  *task
	ctx   any
	buf   []byte        // to read into, or to write
	done  int           // bytes so far
	size  int           // ReadCounted: at most; writes: in all
	timer int32         // place in the timers, or noTimer
	seq   atomic.Uint32 // see is
	kind  op.Kind
	quiet bool // a write that completes only when it fails
	more  *taskMore
}

// noTimer is the place of a task that has no timer.
const noTimer = -1

// taskMore holds what only few operations need.
type taskMore struct {
	single mem.Buf // what is written; or what WriteBytes writes from, if it was lent
	memory *mem.Memory
	room   mem.Slab    // to read into, once
	held   int         // memory of single or memory
	stop   func() bool // unregisters from the context
}

var (
	spareTasks = sync.Pool{New: func() any { return new(task) }}
	spareMores = sync.Pool{New: func() any { return new(taskMore) }}
)

// extend returns t.more, made if need be.
func (t *task) extend() *taskMore {
	if t.more == nil {
		t.more = spareMores.Get().(*taskMore)
	}
	return t.more
}

// reset empties t, which is in no queue.
func (t *task) reset() {
	if m := t.more; m != nil {
		if m.stop != nil {
			m.stop()
		}
		if m.room.Valid() {
			m.room.Release()
		}
		*m = taskMore{}
		spareMores.Put(m)
	}
	t.ctx, t.buf, t.done, t.size, t.more = nil, nil, 0, 0, nil
	t.seq.Add(1)
}

// is reports whether t is still the operation that had this seq: then it is in a queue of
// the connection that it was submitted on, whose mu must be held. Else it may be one of
// another connection.
func (t *task) is(seq uint32) bool { return t.seq.Load() == seq }

// ownRoom returns the memory that t was submitted with, if it still has that.
func (t *task) ownRoom() *mem.Slab {
	if t.more == nil || !t.more.room.Valid() {
		return nil
	}
	return &t.more.room
}

// holds is how much memory a write has as long as it waits, as QueueLimit counts it.
func (t *task) holds() int {
	if t.more != nil && t.more.held > 0 {
		return t.more.held
	}
	return t.size - t.done
}

// rest returns what of a write is still to be written, borrowed; or its first part and
// false when it lies in several.
func (t *task) rest() (p []byte, whole bool) {
	switch t.kind {
	case op.WriteBytes:
		return t.buf[t.done:], true
	case op.WriteBuf:
		return t.more.single.Bytes()[t.done:], true
	}
	skip, parts := t.done, op.Parts(t.more.memory)
	for i, part := range parts {
		if skip < len(part) {
			return part[skip:], i == len(parts)-1
		}
		skip -= len(part)
	}
	return nil, true
}

// gather adds what of a write is still to be written to g, as far as it fits.
func (t *task) gather(g *socket.Gather) {
	if t.kind.IsMark() {
		return
	}
	if t.kind != op.WriteMemory {
		rest, _ := t.rest()
		g.Add(rest)
		return
	}
	skip := t.done
	for _, part := range op.Parts(t.more.memory) {
		switch {
		case skip >= len(part):
			skip -= len(part)
			continue
		case g.Full():
			return
		}
		g.Add(part[skip:])
		skip = 0
	}
}

// compact makes a queued write hold little more memory than its bytes. Called with c.mu.
func (d *Driver) compact(t *task) {
	if t.kind == op.WriteBytes || t.kind.IsMark() {
		return
	}
	r := op.Request{Kind: t.kind, Single: t.more.single, Memory: t.more.memory} //sluice:moved
	d.keepUntilUnlock(&r)
	r.Compact(d.settings.Allocator)
	t.kind, t.more.single, t.more.memory = r.Kind, r.Single, r.Memory //sluice:moved
}
