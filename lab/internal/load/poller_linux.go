package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/lab/internal/rawio"
)

const (
	sendLen = 64 << 10  // requests that go together in one send
	recvLen = 256 << 10 // answers that come together in one recv
	// sweepEvery is how often idle connections are checked after the end, and
	// silentEvery before.
	sweepEvery  = 5 * time.Millisecond
	silentEvery = 500 * time.Millisecond
	// longestWait bounds a wait, so that an interrupt is seen.
	longestWait = 50 * time.Millisecond
)

// A poller is a thread with its share of the connections.
type poller struct {
	*session
	ep, bell int
	peers    []peer
	left     int // peers that are not done
	timers   timers
	events   []unix.EpollEvent
	out, in  []byte
	recorder *recorder
	tally    tally
	swept    int64

	dialing sync.WaitGroup
	mu      sync.Mutex
	dialed  []dialed
}

// A peer is a connection.
type peer struct {
	pipeline *pipeline
	fd       int  // -1 while there is none
	blocked  bool // the socket takes no more for now
	queued   bool // in timers
	done     bool
	heard    int64 // when something came last
	target   int   // its number
	tries    int
}

// bellTag is that of the events of the poller's own eventfd.
const bellTag = -1

func newPoller(s *session) (*poller, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(ep)
		return nil, os.NewSyscallError("eventfd", err)
	}
	p := &poller{
		session: s, ep: ep, bell: bell, recorder: s.recorder(),
		events: make([]unix.EpollEvent, 512), out: make([]byte, sendLen), in: make([]byte, recvLen),
	}
	if err := rawio.Watch(ep, bell, bellTag); err != nil {
		p.close()
		return nil, os.NewSyscallError("epoll_ctl", err)
	}
	return p, nil
}

// add gives the poller a connection, transferred.
func (p *poller) add(l *pipeline, fd int) error {
	p.peers = append(p.peers, peer{pipeline: l, fd: -1, target: int(l.number)})
	p.left++
	if err := p.watch(len(p.peers)-1, fd); err != nil {
		unix.Close(fd)
		return err
	}
	return nil
}

func (p *poller) watch(number, fd int) error {
	if err := rawio.Watch(p.ep, fd, number); err != nil {
		return os.NewSyscallError("epoll_ctl", err)
	}
	p.peers[number].fd, p.peers[number].blocked = fd, false
	return nil
}

func (p *poller) close() {
	p.dialing.Wait()
	for _, d := range p.dialed {
		if d.err == nil {
			unix.Close(d.fd)
		}
	}
	for i := range p.peers {
		if p.peers[i].fd >= 0 {
			unix.Close(p.peers[i].fd)
		}
	}
	unix.Close(p.ep)
	unix.Close(p.bell)
}

// loop serves the connections until all are done or ctx is.
func (p *poller) loop(ctx context.Context) error {
	for i := range p.peers {
		if err := p.serve(ctx, i, 0); err != nil {
			return err
		}
	}
	clock := &stopwatch{p: p}
	for p.left > 0 && ctx.Err() == nil {
		now := p.now()
		clock.see(now)
		p.recorder.publish()
		if err := p.due(ctx, now); err != nil {
			return err
		}
		if err := p.sweep(ctx, now); err != nil {
			return err
		}
		n, err := p.wait(p.timers.next())
		if err != nil {
			return err
		}
		for _, e := range p.events[:n] {
			if e.Fd == bellTag {
				err = p.woken(ctx)
			} else {
				err = p.serve(ctx, int(e.Fd), e.Events)
			}
			if err != nil {
				return err
			}
		}
	}
	clock.stop(p.now())
	return nil
}

// wait waits for events until a time.
func (p *poller) wait(until int64) (int, error) {
	now := p.now() // serving what was due took its time
	longest := longestWait
	if now >= p.end {
		longest = sweepEvery
	}
	if until != never {
		longest = min(longest, time.Duration(until-now))
	}
	n, errno := rawio.Wait(p.ep, p.events, longest)
	if errno != 0 {
		return 0, os.NewSyscallError("epoll_pwait2", errno)
	}
	return n, nil
}

// due serves the connections whose time has come.
func (p *poller) due(ctx context.Context, now int64) error {
	for p.timers.next() <= now {
		number := p.timers.pop()
		p.peers[number].queued = false
		if err := p.serve(ctx, number, 0); err != nil {
			return err
		}
	}
	return nil
}

// sweep looks at all connections now and then: whether they are done, and whether
// the target has fallen silent.
func (p *poller) sweep(ctx context.Context, now int64) error {
	every := silentEvery
	if now >= p.end {
		every = sweepEvery
	}
	if now-p.swept < int64(every) {
		return nil
	}
	p.swept = now
	for i := range p.peers {
		peer := &p.peers[i]
		l := peer.pipeline
		switch {
		case peer.done || peer.fd < 0 && now < p.end:
		case now >= p.end && l.count == 0 && (peer.fd < 0 || p.done(l, now)):
			p.finish(peer)
		case l.count > 0 && now >= p.drained():
			p.abandon(l, p.recorder)
			p.finish(peer)
		case peer.fd < 0: // a new connection for what is under way is being made
		case l.count > 0 && now-max(peer.heard, l.flights[l.first].sent) >= int64(p.plan.Timeout):
			if err := p.broken(ctx, i, fmt.Errorf("%w for %v", ErrSilent, p.plan.Timeout)); err != nil {
				return err
			}
		}
	}
	return nil
}

// serve does what can be done on a connection now.
func (p *poller) serve(ctx context.Context, number int, events uint32) error {
	peer := &p.peers[number]
	if peer.fd < 0 || peer.done {
		return nil
	}
	now := p.now()
	if peer.blocked && events&unix.EPOLLOUT != 0 {
		peer.blocked = false
		peer.pipeline.ready = now
	}
	var err error
	if events&^unix.EPOLLOUT != 0 {
		now, err = p.receive(peer, now, events&rawio.Over != 0)
	}
	if err == nil {
		err = p.pump(peer, now)
	}
	if err != nil {
		return p.broken(ctx, number, err)
	}
	if peer.fd >= 0 && now >= p.end && peer.pipeline.count == 0 && p.done(peer.pipeline, now) {
		p.finish(peer)
		return nil
	}
	p.queue(number, peer, now)
	return nil
}

// queue schedules a connection to be served when its next request is due.
func (p *poller) queue(number int, peer *peer, now int64) {
	if peer.queued || peer.fd < 0 {
		return
	}
	at := peer.pipeline.next()
	if peer.blocked || at <= now {
		at = never
	}
	if at != never {
		p.timers.push(at, number)
		peer.queued = true
	}
}

// pump puts everything that is due under way and sends what the socket takes.
func (p *poller) pump(peer *peer, now int64) error {
	if peer.blocked {
		return nil
	}
	l := peer.pipeline
	for l.next() <= now && !p.done(l, now) {
		r, late := l.begin(now)
		p.tally.count(p.session, r, late)
	}
	for l.unsent > 0 {
		b := l.pending(p.out)
		n, errno := rawio.Send(peer.fd, b)
		if errno == unix.EAGAIN {
			peer.blocked = true
			return nil
		}
		if errno != 0 && l.reopens() {
			return errReopen
		}
		if errno != 0 {
			return fmt.Errorf("%w: sending: %w", ErrHungUp, errno)
		}
		l.gone(n)
	}
	return nil
}

// receive takes what there is; ending says that the end of the stream may stand
// behind it.
func (p *poller) receive(peer *peer, now int64, ending bool) (int64, error) {
	for {
		n, errno := rawio.Recv(peer.fd, p.in)
		switch {
		case errno == unix.EAGAIN:
			return now, nil
		case (errno != 0 || n == 0) && p.closed(peer, now):
			return now, errReopen
		case errno != 0:
			return now, fmt.Errorf("%w: %w", ErrHungUp, errno)
		case n == 0:
			return now, ErrHungUp
		}
		now = p.now()
		peer.heard = now
		for b := p.in[:n]; len(b) > 0; {
			rest, whole, err := peer.pipeline.take(b)
			if err != nil {
				return now, err
			}
			if whole && p.complete(peer, now) {
				return now, errReopen
			}
			b = rest
		}
		if n < len(p.in) && !ending {
			return now, nil
		}
	}
}

// complete records a complete answer, and reports whether it is the last on its
// connection.
func (p *poller) complete(peer *peer, now int64) (last bool) {
	l := peer.pipeline
	last = l.flights[l.first].outcome.Last
	p.answered(l, p.recorder, now)
	return last
}

// closed reports whether the target may have ended a connection, which it has.
func (p *poller) closed(peer *peer, now int64) bool {
	if peer.pipeline.ended() {
		return p.complete(peer, now)
	}
	return peer.pipeline.reopens()
}

// broken ends a connection that has failed. It redials after a reset on purpose, or if
// the plan has Redial; otherwise it returns err.
func (p *poller) broken(ctx context.Context, number int, err error) error {
	peer := &p.peers[number]
	reset(peer.fd)
	peer.fd = -1
	if errors.Is(err, errReopen) {
		now := p.now()
		if peer.pipeline.count == 0 && p.done(peer.pipeline, now) {
			p.finish(peer)
			return nil
		}
		peer.pipeline.again(now)
		peer.target-- // the same target
		p.redials.Add(1)
		p.redial(ctx, number, 0)
		return nil
	}
	lost := peer.pipeline.lost(p.now())
	if p.fault(err, lost); !p.plan.Redial {
		return err
	}
	p.redials.Add(1)
	p.redial(ctx, number, 0)
	return nil
}

// finish ends a connection that has nothing more to do.
func (p *poller) finish(peer *peer) {
	if peer.done {
		return
	}
	p.tally.missed += peer.pipeline.missed(p.end, p.plan)
	peer.done = true
	p.left--
	if peer.fd >= 0 {
		unix.Close(peer.fd)
		peer.fd = -1
	}
}

// A stopwatch measures how busy a thread was within the time measured: on a processor, or waiting for one.
type stopwatch struct {
	p           *poller
	from, until int64
	used        int64 // by the thread, at from
}

func (w *stopwatch) see(now int64) {
	switch {
	case w.from == 0 && now >= w.p.start:
		w.from, w.used = now, threadTime()
	case w.from > 0 && w.until == 0 && now >= w.p.end:
		w.stop(now)
	}
}

func (w *stopwatch) stop(now int64) {
	if w.from > 0 && w.until == 0 && now > w.from {
		w.until = now
		w.p.tally.busy = min(1, float64(threadTime()-w.used)/float64(now-w.from))
	}
}

// threadTime is how long, in nanoseconds, this thread was on a processor or ready without one: see
// proc(5), /proc/PID/schedstat. The second is left out where the kernel does not report it.
func threadTime() int64 {
	var used unix.Timespec
	unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used) // it is there on every Linux
	text, _ := os.ReadFile("/proc/thread-self/schedstat")
	waited := int64(0)
	if fields := bytes.Fields(text); len(fields) > 1 {
		waited, _ = strconv.ParseInt(string(fields[1]), 10, 64)
	}
	return used.Nano() + waited
}
