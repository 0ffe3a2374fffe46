//go:build unix && !aix && !solaris && !illumos

package aio

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// roundsWithoutPoll is how often in a row WaitIO may return completions without
// having asked the poller. Operations that complete at once, one after the other
// on a busy connection, would keep it from looking at the others for ever.
const roundsWithoutPoll = 4

// readiness is the driver for systems that tell which descriptors are ready,
// edge-triggered. It has no goroutine: submissions try their operation, and
// whoever is in wait does the rest.
//
// Locks are taken in the order waiting, conn.mu, mu.
type readiness struct {
	options Options
	start   time.Time // deadlines are kept in nanoseconds since then

	waiting sync.Mutex // held by whoever is in wait; guards what follows
	loan    loan       // memory of reads without a buffer
	counted counted    // memory of ReadBuf
	hot     []hotConn
	slept   bool  // since the poller was asked
	alone   *conn // the connection that was the only one with an event
	again   bool  // and it was so twice
	affinity

	mu        sync.Mutex
	poller    poller
	file      *os.File // the poller's descriptor, as one that Go's own poller can wait for
	raw       syscall.RawConn
	step      func(fd uintptr) bool // stepPoller, made once
	ask       func(fd uintptr)      // askPoller, likewise
	fetched   int                   // events of the last step; only for whoever is in wait
	failed    error                 // of the last step; the same
	asked     uint64                // steps not yet in counters; the same
	rounds    int                   // since the last step
	parked    bool                  // whoever is in wait sleeps, or is about to
	armed     int64                 // the deadline set on file: 0 none, or when it wakes
	closed    bool                  // no more submissions
	draining  bool                  // the same, and shutdown waits for the writes
	gone      chan struct{}         // closed when everything pending has been completed by close
	toldGone  bool                  // wait has returned ErrWatcherClosed
	drained   chan struct{}         // closed when draining and no write is queued
	writes    int                   // operations in all write queues
	ready     readyList             // connections that wait has to read from
	refused   readyList             // those of them that the budget refused the last time
	completed batches
	conns     map[uintptr]*conn  // by the address of the program's connection
	values    map[net.Conn]*conn // those that are not pointers
	fds       []*conn            // by descriptor
	gen       uint32             // of the last connection
	timers    timers
	counters  Stats

	readCalls, writeCalls atomic.Uint64
}

// hotConn is a connection with what the poller said of it.
type hotConn struct {
	c    *conn
	what readyBits
}

func newReadiness(o Options) (driver, error) {
	p := &readiness{
		options: o,
		start:   time.Now(),
		loan:    loan{from: o.Allocator, most: o.BufferSize},
		counted: counted{from: o.Allocator, most: o.BufferSize},
		gone:    make(chan struct{}),
		conns:   make(map[uintptr]*conn),
	}
	p.step, p.ask = p.stepPoller, p.askPoller
	var err error
	if p.file, err = p.poller.open(); err != nil {
		return nil, err
	}
	if p.raw, err = p.file.SyscallConn(); err == nil {
		// A descriptor that Go's poller does not take has no deadlines.
		err = p.file.SetReadDeadline(time.Time{})
	}
	if err != nil {
		_ = p.file.Close()
		return nil, err
	}
	p.watchCollector()
	return p, nil
}

func (p *readiness) wait() ([]OpResult, error) {
	p.waiting.Lock()
	defer p.waiting.Unlock()
	p.loan.end()
	p.pinThread()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.completed.recycle()
	for polled := false; ; polled = true {
		if p.closed {
			return p.farewell()
		}
		if p.completed.len() > 0 && (polled || !p.anyReady() && p.rounds < roundsWithoutPoll) {
			p.rounds++
			return p.completed.take(), nil
		}
		p.rounds = 0
		if err := p.poll(); err != nil {
			return p.completed.take(), err
		}
	}
}

// farewell is what wait returns after close: once what was pending, together
// with the error.
func (p *readiness) farewell() ([]OpResult, error) {
	p.mu.Unlock()
	<-p.gone
	p.counted.end()
	p.unpinThread()
	p.mu.Lock()
	if p.toldGone {
		p.loan.endAll()
		return nil, ErrWatcherClosed
	}
	p.toldGone = true
	return p.completed.take(), ErrWatcherClosed
}

// poll does whatever there is to be done, and when that completes nothing waits
// until there is more. It is called, and returns, with mu held.
func (p *readiness) poll() error {
	p.arm()
	p.mu.Unlock()
	p.fetched, p.failed, p.slept = 0, nil, false
	err := p.raw.Read(p.step)
	late := err != nil && errors.Is(err, os.ErrDeadlineExceeded)
	if late {
		// What has come in time is read before anything is found to be late.
		err = p.raw.Control(p.ask)
	}
	if err == nil {
		err = p.failed
	}
	p.mu.Lock()
	p.parked = false
	// What has waited longer comes first.
	p.runReady()
	p.mu.Unlock()
	p.harvest(p.fetched)
	p.mu.Lock()
	if late {
		p.armed = deadlinePassed
	}
	if err != nil && !p.closed {
		return fmt.Errorf("%w: %w", ErrPollerClosed, err)
	}
	p.counters.WaitCalls += p.asked
	p.asked = 0
	p.expire()
	return nil
}

// stepPoller asks the poller without waiting. It returns true when there is
// something to do, and false to be called again when Go's poller has seen the
// descriptor become ready, or its deadline pass. It must ask before it returns
// false: an edge that came before is not reported again.
func (p *readiness) stepPoller(fd uintptr) bool {
	if p.slept && p.guess() {
		return true
	}
	p.askPoller(fd)
	if p.fetched > 0 || p.failed != nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.completed.len() > 0 || p.anyReady() || p.closed {
		return true
	}
	p.counted.end()
	p.parked, p.slept = true, true
	p.arm()
	return false
}

// guess reads from the connection that was alone to wake wait the last two times,
// without asking the poller who it was: with one connection talking it is that
// one, and a system call is saved. It says whether anything was complete. Others
// do not suffer from it, as the poller is asked before each sleep.
func (p *readiness) guess() bool {
	p.slept = false
	if !p.again {
		return false
	}
	p.again = false
	p.mu.Lock()
	p.parked = false
	p.mu.Unlock()
	c := p.alone
	c.mu.Lock()
	c.note(canRead)
	if p.progressReads(c, true) {
		p.leaveToWait(c, true)
	}
	c.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.again = p.completed.len() > 0
	return p.again
}

// askPoller fetches what is ready at this moment.
func (p *readiness) askPoller(fd uintptr) {
	p.fetched, p.failed = p.poller.poll(int(fd))
	p.asked++
}

// harvest does what n connections have become ready for.
func (p *readiness) harvest(n int) {
	if n == 0 {
		return
	}
	p.hot = p.hot[:0]
	p.mu.Lock()
	for i := range n {
		fd, gen, what := p.poller.event(i)
		// What was freed after the poller had spoken is not there any more, or
		// its descriptor has gone to another connection.
		if fd < len(p.fds) && p.fds[fd] != nil && p.fds[fd].gen == gen {
			p.hot = append(p.hot, hotConn{p.fds[fd], what})
		}
	}
	p.mu.Unlock()
	if len(p.hot) == 1 {
		p.again = p.alone == p.hot[0].c
		p.alone = p.hot[0].c
	} else {
		p.again = false
	}
	for i := range p.hot {
		h := &p.hot[i]
		h.c.mu.Lock()
		h.c.note(h.what)
		if p.progressReads(h.c, true) {
			p.leaveToWait(h.c, true)
		}
		p.progressWrites(h.c)
		h.c.mu.Unlock()
	}
	clear(p.hot)
}

// deadlinePassed is the value of armed when the deadline on file lies in the past.
const deadlinePassed = -1

// arm has whoever waits for file wake up for the next deadline. Called with mu.
func (p *readiness) arm() {
	next := p.timers.next()
	if next == p.armed {
		return
	}
	p.armed = next
	var t time.Time
	if next != 0 {
		t = p.start.Add(time.Duration(next))
	}
	// The error of a file that was closed meanwhile is met by the next wait.
	_ = p.file.SetReadDeadline(t)
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// wake ends the sleep of whoever is in wait. It is a matter of Go's scheduler
// alone, no system call. Called with mu.
func (p *readiness) wake() {
	if p.parked && p.armed != deadlinePassed {
		p.armed = deadlinePassed
		_ = p.file.SetReadDeadline(longAgo)
	}
}
