//go:build unix && !aix && !solaris && !illumos

package ready

import (
	"net"
	"sync"
	"weak"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/aio/internal/poller"
	"github.com/sluice-go/sluice/aio/internal/socket"
)

// Beside the poller's bits.
const (
	// taking: the program's connection is not closed yet. Until it is, a submission that
	// finds nothing in the table would take it over again.
	taking = poller.Free << iota
	// watchesWrites: the poller has been asked for Writable.
	watchesWrites
)

// conn is a delegated connection. There is one for each idle connection, so its
// size counts, and it is one allocation.
type conn struct {
	mu sync.Mutex
	identity
	socket.Socket
	gen       uint32
	ready     poller.Bits
	closed    bool
	inBacklog bool  // guarded by the driver's mu
	refused   bool  // the budget refused its last read
	pending   int32 // operations in both queues

	reads       queue
	writes      queue
	held        int   // memory of what is in writes, as QueueLimit counts it
	nextBacklog *conn // guarded by the driver's mu
	first       task  // for one operation without an allocation: most have one read pending
}

// identity identifies a connection.
type identity struct {
	// name is the program's connection. When the collector has run and found no
	// operation pending, self is set, and from then on name is nil while no operation
	// is pending, so that the connection can be collected. A weak pointer costs some
	// fifty bytes, which an idle connection with a read pending does not need. A name
	// that is not a pointer is always held.
	name net.Conn
	key  uintptr            // its address, or 0
	self weak.Pointer[byte] // the same, or zero; written with c.mu and the driver's mu
}

// isWeak reports whether self is set.
func (i *identity) isWeak() bool { return i.self != weak.Pointer[byte]{} }

// notTaken reports whether c could not be taken over. Called with mu.
func (c *conn) notTaken() bool { return c.closed && c.FD < 0 }

// newTask returns a task for r. The caller puts it into a queue.
func (c *conn) newTask(r *op.Request) *task {
	t := &c.first
	if t.next != nil { // it is in a queue
		t = spareTasks.Get().(*task)
	}
	t.kind, t.ctx, t.buf, t.size, t.timer, t.quiet = r.Kind, r.Ctx, r.Buf, r.Size, noTimer, r.Quiet
	if r.Room.Valid() {
		t.extend().room = r.Room
	}
	c.pending++
	return t
}

// freeTask takes back a task that is in no queue.
func (c *conn) freeTask(t *task) {
	t.reset()
	if t != &c.first {
		spareTasks.Put(t)
	}
	c.pending--
	if c.pending == 0 && c.isWeak() {
		c.name = nil
	}
}

// drained reports whether a read of n bytes into so much room has emptied the socket.
func (c *conn) drained(n, room int) bool {
	return c.Drained(n, room) && c.ready&poller.Unsure == 0
}

// pass does what a mark stands for, when all writes before it are out.
func (c *conn) pass(name net.Conn, mark op.Kind) error {
	if mark == op.EndWrites {
		return c.failed("shutdown", name, c.EndWrites())
	}
	return nil
}

// queued is how many bytes wait to be written.
func (c *conn) queued() (n int) {
	for t := c.writes.head(); t != nil; t = c.writes.after(t) {
		n += t.size - t.done
	}
	return n
}
