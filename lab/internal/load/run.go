package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load/wire"
	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/sink/acked"
)

// Progress is how far a run is.
type Progress struct {
	At        time.Duration // since the warm-up began, or since the measuring did
	Measuring bool          // the warm-up is over
	Requests  uint64        // answered within the last second
	Bytes     uint64        // payload of those
	Errors    uint64
}

type engine interface {
	// run returns when all pipelines are done, when ctx is done, or when the session
	// cannot continue, with the reason.
	run(ctx context.Context, s *session, pipelines []*pipeline) (tally, error)
}

// Run puts the load of a plan on its target and returns the result. It returns an
// error only when it could not begin: an ErrPlan, or a target that does not accept the
// connections. When ctx ends, or the target does, the result has the figures up to
// then.
//
// progress, if it is not nil, is called each second on one goroutine.
func Run(ctx context.Context, p Plan, progress func(Progress)) (*Result, error) {
	return run(ctx, p, nil, nil, progress)
}

func chooseEngine(p *Plan, targets []*wire.Target) (engine, error) {
	switch {
	case targets[0].Drive == wire.Calls:
		return calls{}, nil
	case targets[0].Drive == wire.Stream, p.Engine == "portable":
		return portable, nil
	}
	return raw(p)
}

// RunOver is Run with the portable engine over connections that dial makes: for simulated
// targets, also in virtual time.
func RunOver(ctx context.Context, p Plan, dial func(context.Context, string) (net.Conn, error)) (*Result, error) {
	return run(ctx, p, portable, dial, nil)
}

// run is Run with an engine, the best there is for nil, and, unless it is nil, another way to make
// connections.
func run(ctx context.Context, p Plan, e engine, dial func(context.Context, string) (net.Conn, error), progress func(Progress)) (*Result, error) {
	targets, err := p.check()
	if err == nil && e == nil {
		e, err = chooseEngine(&p, targets)
	}
	if err != nil {
		return nil, err
	}
	p.LateAfter = cmp.Or(p.LateAfter, defaultLate)
	s := &session{
		plan: &p, targets: targets, content: wire.NewContent(p.Seed, rand.Uint32(), p.Sizes.Max), start: int64(p.Warmup), end: int64(p.Warmup + p.Duration),
		late: int64(p.LateAfter), dial: dial,
	}
	pipelines := make([]*pipeline, p.Conns)
	for i := range pipelines {
		target := targets[i%len(targets)]
		pipelines[i] = newPipeline(&p, i, target.Reopen, func() wire.Protocol {
			return target.Protocol(string(p.Protocol), s.content, p.Verify)
		})
	}
	m := &meter{pids: []int{0}}
	if p.PID > 0 {
		m.pids = append(m.pids, p.PID)
	}
	var reporting sync.WaitGroup
	over := make(chan struct{})
	s.begun = func() {
		m.begin(s)
		if progress != nil {
			reporting.Go(func() { s.report(over, progress) })
		}
	}
	began := time.Now()
	t, err := e.run(ctx, s, pipelines)
	close(over)
	reporting.Wait()
	if s.base.IsZero() {
		return nil, err // it has not begun
	}
	if dial != nil {
		t.busy = 0 // the processor does not work on the time of a simulated target
	}
	r := s.result(t, err)
	r.Started, r.Connecting = began, s.base.Sub(began)
	r.Interrupted = ctx.Err() != nil && s.now() < s.end
	m.stop(r)
	if s.acks != nil {
		if err := errors.Join(s.acks.Flush(), s.ackFile.Close()); err != nil {
			return r, fmt.Errorf("load: the file of acknowledgements: %w", err)
		}
	}
	s.judge(r)
	return r, nil
}

// report calls progress each second, of the warm-up and then of what is measured.
func (s *session) report(over <-chan struct{}, progress func(Progress)) {
	var before slot
	for at, last := s.start%int64(time.Second), false; !last; at += int64(time.Second) {
		select {
		case <-time.After(time.Duration(at - s.now())):
		case <-over:
			if last = true; s.now() < at {
				return
			}
		}
		now := s.seen()
		p := Progress{At: time.Duration(at), Measuring: at > s.start, Requests: now.requests - before.requests, Bytes: now.bytes - before.bytes, Errors: s.failed.Load()}
		if before = now; p.Measuring {
			p.At -= time.Duration(s.start)
		}
		if at > 0 && at <= s.end {
			progress(p)
		}
	}
}

// seen is what has been answered since the run began.
func (s *session) seen() (all slot) {
	for _, r := range s.recorders {
		all.requests += r.seen.Load()
		all.bytes += r.seenBytes.Load()
	}
	return all
}

func (s *session) result(t tally, err error) *Result {
	measured := time.Duration(max(0, min(s.now(), s.end)-s.start))
	r := &Result{
		Origin: machine.Origin{Kind: Kind, Schema: Schema}, Plan: *s.plan, Measured: measured, Errors: s.failed.Load(), Redials: s.redials.Load(), Resent: s.resent.Load(),
		Busy: t.busy, LateAfter: time.Duration(s.late),
	}
	if s.first != nil {
		r.Error = s.first.Error()
	} else if err != nil {
		r.Error, r.Errors = err.Error(), 1
	}
	sum := s.recorders[0]
	for _, other := range s.recorders[1:] {
		sum.merge(other)
	}
	r.Requests, r.Bytes = sum.sum.requests, sum.sum.bytes
	r.Lost, r.Failure = sum.lost, sum.failure
	for i, class := range s.targets[0].Classes {
		if n := sum.classes[i]; n > 0 {
			r.Replies = append(r.Replies, Replies{class.Name, n, class.Failed})
		}
	}
	if measured > 0 {
		r.IOPS = float64(r.Requests) / measured.Seconds()
		r.Throughput = float64(r.Bytes) / measured.Seconds()
	}
	if s.plan.Rate > 0 && t.sent+t.missed > 0 {
		r.Shortfall = t.missed / (t.sent + t.missed)
		if t.sent > 0 {
			r.Late = t.late / t.sent
		}
	}
	r.Latency, r.Service = distribution(sum.latency), distribution(sum.service)
	r.Series, r.Gap = sum.series(measured)
	if s.plan.Rate > 0 { // nothing is due between two requests
		r.Gap = max(0, r.Gap-time.Duration(1e9/s.plan.Rate))
	}
	r.Due, r.Jitter = sum.dueWindows(measured), sum.jitter.spread(measured)
	return r
}

// A session is one run: what all its connections share. Times are nanoseconds
// since base.
type session struct {
	plan      *Plan
	targets   []*wire.Target
	content   *wire.Content
	base      time.Time
	start     int64 // of what is measured
	end       int64
	late      int64 // how late a send may be
	recorders []*recorder
	dial      func(ctx context.Context, target string) (net.Conn, error) // nil for the targets' own
	ackFile   *os.File                                                   // nil without one, and before the session begins
	acks      *acked.Writer                                              // to ackFile
	begun     func()                                                     // called when the time begins to count

	redials atomic.Uint64
	resent  atomic.Uint64
	failed  atomic.Uint64
	mu      sync.Mutex
	first   error // that came up
}

// begin starts the clock, once all connections are open. It creates the file of
// acknowledgements only now, since that may replace the file of an earlier run.
func (s *session) begin() error {
	if name := s.plan.AckFile; name != "" {
		var err error
		if s.ackFile, err = os.Create(name); err != nil {
			return fmt.Errorf("load: the file of acknowledgements: %w", err)
		}
		s.acks = acked.NewWriter(s.ackFile)
	}
	s.base = time.Now()
	if s.begun != nil {
		s.begun()
	}
	return nil
}

func (s *session) now() int64 { return int64(time.Since(s.base)) }

// drained returns when the run stops waiting for answers. Requests that were due before
// the end are sent, and their answers awaited, after it as well; otherwise the longest
// latencies would be missing.
func (s *session) drained() int64 { return s.end + int64(min(s.plan.Timeout, maxDrain)) }

const maxDrain = 10 * time.Second

func (s *session) fault(err error, requests int) {
	s.failed.Add(uint64(max(1, requests)))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil {
		s.first = err
	}
}

func (s *session) connect(ctx context.Context, i int) (net.Conn, error) {
	ctx, stop := context.WithTimeout(ctx, s.plan.Timeout)
	defer stop()
	target := s.targets[i%len(s.targets)]
	if s.dial != nil {
		return s.dial(ctx, target.Name)
	}
	return target.Dial(ctx)
}

func (s *session) recorder() *recorder {
	p := s.plan
	r := &recorder{
		start: s.start, end: s.end, open: p.Rate > 0, latency: newHistogram(), slots: make([]slot, p.Duration/slotTime+1),
		due: newWindows(max(seriesTime, (p.Duration+mostDue-1)/mostDue), dueDigits, p.Duration), jitter: newWindows(JitterEvery(p), jitterDigits, p.Duration),
	}
	if r.open {
		r.service = newHistogram()
	}
	s.recorders = append(s.recorders, r)
	return r
}

type tally struct {
	sent   float64 // requests that were due in the time measured, and were sent
	late   float64 // of those, by the generator's own fault
	missed float64 // that were due, and were not sent
	busy   float64 // part of the time that the busiest thread did not wait for the target
}

func (t *tally) add(other tally) {
	t.sent += other.sent
	t.late += other.late
	t.missed += other.missed
	t.busy = max(t.busy, other.busy)
}

func (t *tally) count(s *session, r *request, late int64) {
	switch {
	case r.intended < s.start || r.intended >= s.end:
	case r.sent >= s.end+s.late:
		t.missed++
	default:
		t.sent++
		// Behind a stall of the target the generator's share of the wait counts only when it is material.
		if late > max(s.late, (r.sent-r.intended)/10) {
			t.late++
		}
	}
}

// tolerable is the share of sends that may be late, or missing, before a run is
// invalid.
const tolerable = 0.05

// done reports whether a pipeline has nothing more to send. After the end, requests that were
// due before it are still sent, unless so many are missing that the run is invalid.
func (s *session) done(l *pipeline, now int64) bool {
	if l.schedule == nil {
		return now >= s.end
	}
	if l.due >= s.end || now >= s.drained() {
		return true
	}
	if now < s.end {
		return false
	}
	all := s.plan.Rate * s.plan.Duration.Seconds() / float64(s.plan.Conns)
	return l.missed(s.end, s.plan) > max(1, tolerable*all)
}
