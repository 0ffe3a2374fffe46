package load

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load/wire"
	"github.com/sluice-go/sluice/lab/internal/units"
)

const (
	// sweepEvery is how often idle connections are checked after the end, and
	// silentEvery before.
	sweepEvery  = 5 * time.Millisecond
	silentEvery = 500 * time.Millisecond
	// longestWait bounds a wait, so that an interrupt is seen.
	longestWait = 50 * time.Millisecond
)

// loops is the engine for targets of bytes: loops that share the connections.
type loops struct {
	threads   int
	transport func() (transport, error)
}

func (e loops) run(outer context.Context, s *session, pipelines []*pipeline) (tally, error) {
	ctx, stop := context.WithCancelCause(outer)
	var list []*loop
	defer func() {
		stop(nil) // ends dials under way
		for _, l := range list {
			l.close()
		}
	}()
	for range min(e.threads, len(pipelines)) {
		t, err := e.transport()
		if err != nil {
			return tally{}, err
		}
		list = append(list, &loop{session: s, transport: t, recorder: s.recorder(), out: make([]byte, sendLen), dialed: make(chan dialed, len(pipelines))})
	}
	for i, pipeline := range pipelines {
		conn, err := s.connect(ctx, i)
		if err == nil {
			err = list[i%len(list)].add(pipeline, conn)
		}
		if err != nil {
			return tally{}, fmt.Errorf("load: connection %d of %d: %w", i+1, len(pipelines), err)
		}
	}
	if s.targets[0].Is("ws", "wss") { // these have one loop
		if err := list[0].hear(ctx); err != nil {
			return tally{}, err
		}
	}
	if err := s.begin(); err != nil {
		return tally{}, err
	}
	var running sync.WaitGroup
	for _, l := range list {
		running.Go(func() {
			defer l.transport.hold()()
			if err := l.run(ctx); err != nil {
				stop(err)
			}
		})
	}
	running.Wait()
	var sum tally
	for _, l := range list {
		sum.add(l.tally)
	}
	return sum, failure(outer, ctx)
}

// failure is why a run ended, which ctx has, unless outer interrupted it.
func failure(outer, ctx context.Context) error {
	if outer.Err() != nil {
		return nil
	}
	return context.Cause(ctx)
}

type loop struct {
	*session
	transport transport
	peers     []peer
	left      int // peers that are not done
	timers    timers
	out       []byte
	recorder  *recorder
	tally     tally
	swept     int64

	dialing sync.WaitGroup
	dialed  chan dialed // room for one of each peer
}

type peer struct {
	pipeline *pipeline
	open     bool
	blocked  bool // the connection takes no more for now
	queued   bool // in timers
	done     bool
	heard    int64 // when something came last
	target   int   // its number
	tries    int
}

// add gives the loop a connection, transferred.
func (l *loop) add(p *pipeline, conn net.Conn) error {
	l.peers = append(l.peers, peer{pipeline: p, target: int(p.number)})
	l.left++
	return l.open(len(l.peers)-1, conn)
}

func (l *loop) open(number int, conn net.Conn) error {
	if err := l.transport.open(number, conn); err != nil {
		return err
	}
	l.peers[number].open, l.peers[number].blocked = true, false
	return nil
}

func (l *loop) close() {
	l.dialing.Wait()
	close(l.dialed)
	for d := range l.dialed {
		if d.err == nil {
			d.conn.Close()
		}
	}
	for i, p := range l.peers {
		if p.open {
			l.transport.close(i, false)
		}
	}
	l.transport.end()
}

// hear takes what targets say before they are asked, until they say nothing for 50 ms, in steps: a time in which this
// process stands still is not theirs.
func (l *loop) hear(ctx context.Context) (err error) {
	for step, quiet := 0, 0; step < 1000 && quiet < 10 && ctx.Err() == nil && err == nil; step++ {
		quiet++
		err = l.transport.wait(ctx, 5*time.Millisecond, func(number int, _ ready) error {
			_, err := l.receive(number, 0, false)
			quiet, l.peers[number].heard = 0, 0 // before the time counts
			return err
		})
	}
	return err
}

func (l *loop) run(ctx context.Context) error {
	serve := func(number int, r ready) error { return l.serve(ctx, number, r) }
	clock := stopwatch{loop: l}
	defer func() {
		clock.stop(l.now())
		l.recorder.publish()
	}()
	for i := range l.peers {
		if err := serve(i, ready{}); err != nil {
			return err
		}
	}
	for l.left > 0 && ctx.Err() == nil {
		now := l.now()
		clock.see(now)
		l.recorder.publish()
		for l.timers.next() <= now {
			number := int(heap.Pop(&l.timers).(timer).peer)
			l.peers[number].queued = false
			if err := serve(number, ready{}); err != nil {
				return err
			}
		}
		if err := l.sweep(ctx, now); err != nil {
			return err
		}
		if err := l.transport.wait(ctx, l.longest(), serve); err != nil {
			return err
		}
		if err := l.reconnect(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (l *loop) longest() time.Duration {
	now, longest := l.now(), longestWait // serving what was due took its time
	if now >= l.end {
		longest = sweepEvery
	}
	if until := l.timers.next(); until != never {
		longest = min(longest, time.Duration(until-now))
	}
	return longest
}

// sweep looks at all connections now and then: whether they are done, and whether
// the target has fallen silent.
func (l *loop) sweep(ctx context.Context, now int64) error {
	every := silentEvery
	if now >= l.end {
		every = sweepEvery
	}
	if now-l.swept < int64(every) {
		return nil
	}
	l.swept = now
	for i := range l.peers {
		peer := &l.peers[i]
		p := peer.pipeline
		switch {
		case peer.done || !peer.open && now < l.end:
		case now >= l.end && p.count == 0 && (!peer.open || l.done(p, now)):
			l.finish(i)
		case p.count > 0 && now >= l.drained():
			l.abandon(p)
			l.finish(i)
		case !peer.open: // a new connection for what is under way is being made
		case p.count > 0 && now-max(peer.heard, p.flights[p.first].sent) >= int64(l.plan.Timeout):
			if err := l.broken(ctx, i, fmt.Errorf("%w for %v", silent(p.got), l.plan.Timeout)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *loop) serve(ctx context.Context, number int, r ready) error {
	peer := &l.peers[number]
	if !peer.open || peer.done {
		return nil
	}
	now := l.now()
	if peer.blocked && r.send {
		peer.blocked = false
		peer.pipeline.ready = now
	}
	var err error
	if r.receive {
		now, err = l.receive(number, now, r.ending)
	}
	if err == nil {
		err = l.pump(number, now)
	}
	if err != nil {
		return l.broken(ctx, number, err)
	}
	if now >= l.end && peer.pipeline.count == 0 && l.done(peer.pipeline, now) {
		l.finish(number)
		return nil
	}
	// It is served again when its next request is due.
	if at := peer.pipeline.next(); !peer.queued && !peer.blocked && at > now && at != never {
		heap.Push(&l.timers, timer{at, int32(number)})
		peer.queued = true
	}
	return nil
}

func (l *loop) pump(number int, now int64) error {
	peer := &l.peers[number]
	if peer.blocked {
		return nil
	}
	p := peer.pipeline
	for p.next() <= now && !l.done(p, now) {
		r, late := p.begin(now)
		l.tally.count(l.session, r, late)
	}
	for p.unsent > 0 {
		n, err := l.transport.send(number, p.pending(l.out))
		if peer.blocked = err != nil; peer.blocked {
			return nil // also where the target has ended the connection: a reply may stand before its end
		}
		p.gone(n)
	}
	return nil
}

// receive takes what there is; ending says that the end of the stream may stand
// behind it.
func (l *loop) receive(number int, now int64, ending bool) (int64, error) {
	peer := &l.peers[number]
	p := peer.pipeline
	for {
		b, more, err := l.transport.receive(number)
		switch {
		case err == errNotReady:
			return now, nil
		case err != nil && (p.ended() && l.answered(p, now) || p.reopens(now)):
			return now, errReopen
		case errors.Is(err, wire.ErrReply):
			return now, err
		case err == io.EOF:
			return now, p.hungUp()
		case err != nil:
			return now, fmt.Errorf("%w: %w", p.hungUp(), err)
		}
		now = l.now()
		peer.heard = now
		for len(b) > 0 {
			rest, whole, err := p.take(b)
			if errors.Is(err, wire.ErrIdle) {
				return now, errReopen
			}
			if err != nil {
				return now, err
			}
			if whole && l.answered(p, now) {
				return now, errReopen
			}
			b = rest
		}
		if !more && !ending {
			return now, nil
		}
	}
}

func (l *loop) answered(p *pipeline, now int64) (last bool) {
	oldest := &p.flights[p.first]
	last = oldest.outcome.Last
	if l.acks != nil {
		a := p.protocol.(wire.Acknowledger)                                    // by Plan.Check
		l.acks.Append(a.Number(), a.Sum(&oldest.Request), uint32(oldest.Size)) // an error stays until the end
	}
	q := p.answered(now)
	l.recorder.answered(now, &q)
	return last
}

func (l *loop) unanswered(p *pipeline, now int64) {
	for i := range p.count {
		l.recorder.unanswered(now, p.flight(i))
	}
}

func (l *loop) abandon(p *pipeline) {
	l.unanswered(p, l.now())
	if p.count > 0 {
		l.fault(fmt.Errorf("%w (%s at the end)", silent(p.got), units.Plural(p.count, "request")), p.count)
	}
}

func (l *loop) finish(number int) {
	peer := &l.peers[number]
	if peer.done {
		return
	}
	l.tally.missed += peer.pipeline.missed(l.end, l.plan)
	peer.done = true
	l.left--
	if peer.open {
		l.transport.close(number, false)
		peer.open = false
	}
}

// A stopwatch measures how busy a loop was within the time measured.
type stopwatch struct {
	*loop
	from, until int64
	before      int64 // used at from
}

func (w *stopwatch) see(now int64) {
	switch {
	case w.from == 0 && now >= w.start:
		w.from, w.before = now, w.transport.used()
	case w.from > 0 && w.until == 0 && now >= w.end:
		w.stop(now)
	}
}

func (w *stopwatch) stop(now int64) {
	if w.from > 0 && w.until == 0 && now > w.from {
		w.until = now
		w.tally.busy = min(1, float64(w.transport.used()-w.before)/float64(now-w.from))
	}
}

const (
	sendLen = 64 << 10  // requests that go together in one send
	recvLen = 256 << 10 // answers that come together in one receive
)

// A transport moves the bytes of a loop's connections, which it knows by the numbers of
// their peers. Only wake may be called from another goroutine than the loop's.
type transport interface {
	// hold prepares the loop's goroutine; release undoes that.
	hold() (release func())
	// open takes a connection, transferred also on error.
	open(number int, conn net.Conn) error
	close(number int, reset bool)
	// send sends what there is room for; errNotReady when there is none, another error when the stream has ended,
	// or is about to, in both directions.
	send(number int, p []byte) (n int, err error)
	// receive returns what has come, borrowed until the next call, and whether more may
	// have; errNotReady when nothing has, io.EOF at the end.
	receive(number int) (p []byte, more bool, err error)
	// wait waits for a time at most, and calls serve with what has become ready.
	wait(ctx context.Context, longest time.Duration, serve func(number int, r ready) error) error
	wake()
	// used is for how many nanoseconds the generator worked or waited for a processor.
	used() int64
	end()
}

// errNotReady is of a connection on which nothing can be done now.
var errNotReady = errors.New("not ready")

type ready struct {
	receive, send bool
	ending        bool // the end of the stream may stand behind what is received
}

type timers []timer

type timer struct {
	at   int64
	peer int32
}

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return t[i].at < t[j].at }
func (t timers) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *timers) Push(x any)        { *t = append(*t, x.(timer)) }

func (t *timers) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return last
}

func (t timers) next() int64 {
	if len(t) == 0 {
		return never
	}
	return t[0].at
}
