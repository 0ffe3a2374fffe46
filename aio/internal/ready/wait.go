//go:build unix && !aix && !solaris && !illumos

package ready

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/aio/internal/poller"
)

// roundsWithoutPoll is how often in a row Wait may return completions without asking
// the poller. Without this limit, operations of one busy connection that complete at
// once could starve the other connections for ever.
const roundsWithoutPoll = 4

// Wait ends the lease of its previous results, waits until operations have completed
// and returns them. After Close it returns op.ErrWatcherClosed, once
// together with what was pending.
func (d *Driver) Wait() ([]op.Result, error) {
	d.round.lock.Lock()
	defer d.round.lock.Unlock()
	d.leased.End()
	d.round.pinned.Pin()
	d.mu.Lock()
	results, err := d.collect()
	// Not deferred: where a caller's bug panics, mu is not always held.
	d.mu.Unlock()
	return results, err
}

// collect polls until operations have completed, and returns them. It is called, and
// returns, with mu held.
func (d *Driver) collect() ([]op.Result, error) {
	d.done.Recycle()
	for polled := false; ; polled = true {
		if d.life.closed {
			return d.lastResults()
		}
		if d.done.Len() > 0 && (polled || d.backlog.empty() && d.round.without < roundsWithoutPoll) {
			d.round.without++
			return d.done.Take(), nil
		}
		d.round.without = 0
		if err := d.poll(); err != nil {
			return d.done.Take(), err
		}
	}
}

// lastResults is what Wait returns after Close. It is called, and returns, with mu held.
func (d *Driver) lastResults() ([]op.Result, error) {
	d.mu.Unlock()
	<-d.life.gone
	d.round.counted.End()
	d.round.pinned.Unpin()
	d.mu.Lock()
	if d.life.last {
		d.leased.EndAll()
		return nil, op.ErrWatcherClosed
	}
	d.life.last = true
	return d.done.Take(), op.ErrWatcherClosed
}

// poll does all pending work. When that completes no operation, it waits until
// there is more. It is called, and returns, with mu held.
func (d *Driver) poll() error {
	r := &d.round
	d.poller.Arm(d.timers.next())
	d.mu.Unlock()
	r.fetched, r.failed, r.guess.slept = 0, nil, false
	late, err := d.poller.Sleep(r.look)
	if r.monitor.slept {
		r.monitor.woke(time.Since(d.start))
	}
	if late {
		// Bytes that came in time are read before any deadline expires.
		err = d.poller.Ask(r.ask)
	}
	if err == nil {
		err = r.failed
	}
	d.mu.Lock()
	d.poller.Awake(false)
	// What has waited longer comes first.
	d.readBacklog()
	d.mu.Unlock()
	d.progress(r.fetched)
	d.mu.Lock()
	if late {
		d.poller.Awake(true)
	}
	if err != nil && !d.life.closed {
		return fmt.Errorf("%w: %w", op.ErrPollerClosed, err)
	}
	d.counters.WaitCalls += r.asked
	r.asked = 0
	d.expire()
	return nil
}

// lookForWork reports whether there is work, and parks the caller if not.
func (d *Driver) lookForWork(fd uintptr) bool {
	r := &d.round
	if r.guess.slept && d.readAlone() {
		return true
	}
	d.askPoller(fd)
	if r.fetched > 0 || r.failed != nil {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.done.Len() > 0 || !d.backlog.empty() || d.life.closed {
		return true
	}
	r.counted.End()
	d.leased.Spare() // no result of this Wait has any
	r.guess.slept, r.monitor.slept = true, true
	d.poller.Park()
	d.poller.Arm(d.timers.next())
	return false
}

// askPoller fetches what is ready at this moment.
func (d *Driver) askPoller(uintptr) {
	d.round.fetched, d.round.failed = d.poller.Poll()
	d.round.asked++
}

// readAlone reads from the connection that alone woke Wait the last two times, without
// asking the poller: if only one connection is active it is that one, and a system
// call is saved. It reports whether an operation completed. Other connections are not
// delayed, because the poller is asked before each sleep.
func (d *Driver) readAlone() bool {
	g := &d.round.guess
	g.slept = false
	if !g.again {
		return false
	}
	g.again = false
	d.mu.Lock()
	d.poller.Awake(false)
	d.mu.Unlock()
	d.progressConn(g.alone, poller.Readable)
	d.mu.Lock()
	defer d.mu.Unlock()
	g.again = d.done.Len() > 0
	return g.again
}

// progress carries out the operations of n connections that have become ready.
func (d *Driver) progress(n int) {
	if n == 0 {
		return
	}
	r := &d.round
	r.hot = r.hot[:0]
	d.mu.Lock()
	for i := range n {
		fd, gen, what := d.poller.Event(i)
		if c := d.table.at(fd, gen); c != nil {
			r.hot = append(r.hot, hotConn{c, what})
		}
	}
	d.mu.Unlock()
	r.guess.saw(r.hot)
	for i := range r.hot {
		d.progressConn(r.hot[i].c, r.hot[i].what)
	}
	clear(r.hot)
}

// progressConn carries out the operations that c has become ready for.
func (d *Driver) progressConn(c *conn, what poller.Bits) {
	c.mu.Lock()
	c.ready |= what
	if d.progressReads(c, true) {
		d.mu.Lock()
		d.backlog.push(c)
		d.mu.Unlock()
	}
	if what&poller.Writable != 0 {
		d.progressWrites(c)
	}
	d.unlock(c)
}

// readBacklog reads from the connections that were left to Wait. What is submitted
// meanwhile waits for the next round. It is called, and returns, with mu held.
func (d *Driver) readBacklog() {
	list := d.backlog.takeAll()
	for c := list.pop(); c != nil; c = list.pop() {
		d.mu.Unlock()
		c.mu.Lock()
		before := c.pending
		more := d.progressReads(c, true)
		got := c.pending != before
		d.unlock(c)
		d.mu.Lock()
		if !more {
			continue
		}
		// The memory of this round is used up. A connection that had its share
		// goes behind the others.
		switch {
		case c.inBacklog:
		case got:
			d.backlog.ready.push(c)
		default:
			list.pushFirst(c)
		}
		break
	}
	d.backlog.ready.prepend(&list)
}

// expire ends the operations whose deadline has passed. It is called, and
// returns, with mu held.
func (d *Driver) expire() {
	if len(d.timers) == 0 {
		return
	}
	now := int64(time.Since(d.start))
	var tried *conn
	for {
		e, ok := d.timers.expired(now)
		if !ok {
			return
		}
		d.mu.Unlock()
		d.endLate(e, now, e.c != tried)
		d.mu.Lock()
		tried = e.c
	}
}

// endLate ends an operation whose deadline has passed, unless it can be carried out: when
// Wait comes late, many connections have become ready in time that the poller has not reported
// yet, or that this round had no memory for. try says that this round has not looked: of
// thousands that end together on one connection only the first asks the kernel.
func (d *Driver) endLate(e expiry, now int64, try bool) {
	c := e.c
	c.mu.Lock()
	defer d.unlock(c)
	if !e.t.is(e.seq) {
		return
	}
	if try {
		c.ready |= poller.Readable | poller.Writable
	}
	more := d.progressReads(c, true)
	d.progressWrites(c)
	switch {
	case !e.t.is(e.seq):
	case more && !e.t.kind.IsWrite():
		d.mu.Lock()
		d.backlog.push(c)
		d.timers.push(c, e.t, now+1) // the next round reads first
		d.mu.Unlock()
	default:
		d.complete(c, e.t, op.ErrDeadline)
	}
}
