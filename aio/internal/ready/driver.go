//go:build unix && !aix && !solaris && !illumos

package ready

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/aio/internal/blocks"
	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/aio/internal/poller"
)

// Driver is the state of one watcher. Submit, WriteMany, Free, Shutdown, Close, Pin and
// Counters may be called from any goroutine, and Wait from one at a time.
//
// Locks are taken in the order round.lock, conn.mu, mu.
type Driver struct {
	settings op.Settings
	start    time.Time // deadlines are kept in nanoseconds since then
	leased   blocks.Leased
	round    round
	foreign  foreign

	mu       sync.Mutex // guards what follows
	poller   *poller.Poller
	table    table
	backlog  backlog
	timers   timers
	done     op.Completions
	life     life
	counters op.Counters

	readCalls, writeCalls atomic.Uint64
}

// round is the state of the goroutine in Wait.
type round struct {
	lock    sync.Mutex // held in Wait; guards what follows
	counted blocks.Counted
	pinned  poller.Affinity
	hot     []hotConn
	fetched int    // events of the last question to the poller
	failed  error  // of the last question
	asked   uint64 // questions not yet in the counters
	without int    // rounds since the last question
	guess   guess
	monitor monitor
	look    func(fd uintptr) bool // lookForWork, made once
	ask     func(fd uintptr)      // askPoller, likewise
}

// hotConn is a connection and the events that the poller reported for it.
type hotConn struct {
	c    *conn
	what poller.Bits
}

// guess records whether one connection is the only one with events.
type guess struct {
	slept bool  // since the poller was asked
	alone *conn // the connection that was the only one with an event
	again bool  // and it was so twice
}

// saw records the connections of one answer of the poller.
func (g *guess) saw(hot []hotConn) {
	if len(hot) != 1 {
		g.again = false
		return
	}
	g.again = g.alone == hot[0].c
	g.alone = hot[0].c
}

// life is the state of closing the watcher.
type life struct {
	closed   bool          // no more submissions
	draining bool          // the same, and Shutdown waits for the writes
	last     bool          // Wait has returned op.ErrWatcherClosed
	gone     chan struct{} // closed when everything pending has been completed by Close
	drained  chan struct{} // closed when draining and no write is queued; nil without Shutdown
	writes   int           // operations in all write queues
	cut      bool          // Close has ended a queued write
	// refusing is set with closed and draining. It is looked at with a connection's mu
	// held: what Shutdown finds when it has had all of those is all that there will be.
	refusing atomic.Bool
}

// ending reports whether nothing can be submitted any more.
func (l *life) ending() bool { return l.closed || l.draining }

// wrote notes that a queued write has ended with err. Other than nil after closed it was cut short,
// though one may also have gone out meanwhile.
func (l *life) wrote(err error) {
	l.writes--
	if l.closed && err != nil {
		l.cut = true
	}
	if l.writes == 0 && l.drained != nil && !l.closed {
		close(l.drained)
		l.drained = nil
	}
}

// Pin makes the goroutine in Wait stay on one processor, from the next Wait on.
func (d *Driver) Pin(cpuid int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.life.closed {
		return op.ErrConnClosed // as in gaio
	}
	return d.round.pinned.Want(cpuid)
}

// closedError says why a submission on a connection that was found is refused.
func (d *Driver) closedError() error {
	if d.life.refusing.Load() {
		return op.ErrWatcherClosed
	}
	return op.ErrConnClosed
}

// refuses reports whether nothing can be submitted on c. Called with c.mu.
func (d *Driver) refuses(c *conn) bool { return c.closed || d.life.refusing.Load() }

// wake makes Wait return the completions, except that Close returns all of them
// together. Called with mu.
func (d *Driver) wake() {
	if !d.life.closed {
		d.poller.Wake()
	}
}
