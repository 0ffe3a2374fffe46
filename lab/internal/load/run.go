package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load/wire"
)

// Progress is how far a run is.
type Progress struct {
	Elapsed   time.Duration // since the warm-up began
	Measuring bool          // it is over
	Second    Second        // the window that has just ended; of the warm-up At counts from its begin
	Errors    uint64
}

// Run puts the load of a plan on its target and returns the result. It returns an
// error only when it could not begin: an ErrPlan, or a target that does not accept the
// connections. When ctx ends, or the target does, the result has the figures up to
// then.
//
// progress, if it is not nil, is called after each window of the time series, on
// one goroutine, and must return soon.
func Run(ctx context.Context, p Plan, progress func(Progress)) (*Result, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	targets, err := p.parse()
	if err != nil {
		return nil, err
	}
	e, err := chooseEngine(&p, targets)
	if err != nil {
		return nil, err
	}
	return run(ctx, p, e, nil, progress)
}

// defaultLate is how late a send may be unless the plan says otherwise.
const defaultLate = time.Millisecond

// run is Run with an engine and, unless it is nil, another way to make connections.
func run(ctx context.Context, p Plan, e engine, dial func(context.Context, string) (net.Conn, error), progress func(Progress)) (*Result, error) {
	if p.LateAfter == 0 {
		p.LateAfter = defaultLate
	}
	targets, err := p.parse()
	if err != nil {
		return nil, err
	}
	s := &session{
		plan: &p, targets: targets, content: wire.NewContent(p.Seed, rand.Uint32(), p.Sizes.Max), start: int64(p.Warmup), end: int64(p.Warmup + p.Duration),
		late: int64(p.LateAfter), aggregator: newAggregator(&p, 1), dial: dial,
	}
	s.aggregator.errors = s.failed.Load
	pipelines := make([]*pipeline, p.Conns)
	for i := range pipelines {
		pipelines[i] = s.pipeline(i)
	}
	m := newMeter(s)
	endReports := s.reporter(progress)
	s.begun = func() { go m.run(ctx) }
	began := time.Now()
	t, recorders, err := e.run(ctx, s, pipelines)
	endReports()
	if recorders == nil {
		return nil, err // it has not begun
	}
	r := s.result(t, recorders, err)
	r.Started = began
	r.Interrupted = ctx.Err() != nil && s.now() < s.end
	r.Generator, r.Target = m.stop(warm(recorders), r.Requests, t.calls)
	if s.acks != nil {
		if err := s.acks.close(); err != nil {
			return r, fmt.Errorf("load: the file of acknowledgements: %w", err)
		}
	}
	s.judge(r)
	return r, nil
}

// warm is how many requests were answered before the time measured.
func warm(recorders []*recorder) (n uint64) {
	for _, r := range recorders {
		n += r.warm
	}
	return n
}

// reporter calls progress on a separate goroutine, so that no goroutine that moves
// bytes waits for it. Reports are dropped while 64 of them wait. The function that
// it returns ends the goroutine and waits for it.
func (s *session) reporter(progress func(Progress)) func() {
	if progress == nil {
		return func() {}
	}
	events, done := make(chan Progress, 64), make(chan struct{})
	s.aggregator.notify = func(p Progress) {
		select {
		case events <- p:
		default:
		}
	}
	go func() {
		defer close(done)
		for p := range events {
			progress(p)
		}
	}()
	return func() {
		close(events)
		<-done
	}
}

// result puts together what there is.
func (s *session) result(t tally, recorders []*recorder, err error) *Result {
	measured := time.Duration(max(0, min(s.now(), s.end)-s.start))
	r := &Result{
		Kind: Kind, Schema: Schema, Plan: *s.plan, Measured: measured, Errors: s.failed.Load(), Redials: s.redials.Load(),
		Busy: t.busy, LateAfter: time.Duration(s.late), Series: s.aggregator.series,
	}
	if first := s.firstFault(); first != nil {
		r.Error = first.Error()
	} else if err != nil {
		r.Error, r.Errors = err.Error(), 1
	}
	sum := recorders[0]
	for _, other := range recorders[1:] {
		sum.latency.Merge(other.latency)
		if sum.service != nil {
			sum.service.Merge(other.service)
		}
		sum.requests += other.requests
		sum.bytes += other.bytes
		for i, n := range other.classes {
			sum.classes[i] += n
		}
	}
	r.Requests, r.Bytes = sum.requests, sum.bytes
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
	r.Latency = distribution(sum.latency)
	if sum.service != nil {
		r.Service = distribution(sum.service)
	}
	r.P99s = s.aggregator.p99s
	r.Due = dueWindows(recorders, dueEvery(s.plan), measured)
	r.Jitters, r.Jitter = jitters(r.P99s, s.plan.Windows, measured)
	return r
}
