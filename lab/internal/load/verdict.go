package load

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/units"
)

// outOfCPU is the busy part of the time from which on the generator counts as out of CPU.
const outOfCPU = 0.95

// A Code says why a run is invalid.
type Code string

const (
	EndedEarly      Code = "ended-early"        // within the warm-up
	NothingAnswered Code = "nothing-answered"   // within the time measured
	TargetFailed    Code = "target-failed"      // a request or a connection
	TargetBehind    Code = "target-behind"      // it does not take the rate
	RepliesFailed   Code = "replies-failed"     // it says that it could not
	GeneratorLate   Code = "generator-late"     // it does not keep the rate
	GeneratorFull   Code = "generator-at-limit" // it was out of CPU
)

// A Reason is a code with its text for people.
type Reason struct {
	Code Code   `json:"code"`
	Text string `json:"text"`
}

func (r Reason) String() string { return r.Text }

// Texts joins what reasons say.
func Texts(reasons []Reason) string {
	var list []string
	for _, r := range reasons {
		list = append(list, r.Text)
	}
	return strings.Join(list, "; ")
}

// Behind reports whether a run is invalid only because the target does not keep up with
// the rate. Then its throughput is known, while its latency would grow without end.
func (r *Result) Behind() bool {
	return !r.Valid && len(r.Reasons) == 1 && r.Reasons[0].Code == TargetBehind
}

// judge decides whether a run is valid, and removes the latencies of an invalid
// one.
func (s *session) judge(r *Result) {
	invalid := func(code Code, format string, args ...any) {
		r.Reasons = append(r.Reasons, Reason{code, fmt.Sprintf(format, args...)})
	}
	switch {
	case r.Errors > 0 && !s.plan.Redial:
		invalid(TargetFailed, "the target failed: %s", r.Error)
	case r.Measured <= 0:
		invalid(EndedEarly, "it ended within the warm-up")
	case r.Requests == 0:
		invalid(NothingAnswered, "nothing was answered within the time measured")
	}
	if failed := r.failedShare(); failed > tolerable {
		invalid(RepliesFailed, "%.1f %% of the replies are failures: the latency is not that of what was asked for", 100*failed)
	}
	if r.Shortfall > tolerable && !r.Interrupted {
		invalid(TargetBehind, "%.1f %% of the requests that were due had not been sent at the end: the target does not take %s", 100*r.Shortfall, rateText(s.plan))
	}
	if r.Late > tolerable {
		invalid(GeneratorLate, "%.1f %% of the requests were sent more than %s late although there was room for them: the generator does not keep %s",
			100*r.Late, units.Nanoseconds(float64(s.late)), rateText(s.plan))
	}
	if r.Busy > outOfCPU {
		invalid(GeneratorFull, "the generator was out of CPU (busy %.0f %% of the time): the target may be able to do more", 100*r.Busy)
	}
	if r.Valid = len(r.Reasons) == 0; !r.Valid {
		r.Latency, r.Service, r.Due, r.Jitter = nil, nil, nil, 0
	}
}

func (r *Result) failedShare() float64 {
	failed := uint64(0)
	for _, c := range r.Replies {
		if c.Failed {
			failed += c.Count
		}
	}
	return float64(failed) / float64(max(1, r.Requests))
}

func rateText(p *Plan) string { return units.Number(p.Rate) + " requests a second" }

const (
	// timerStep is how long the timers are whose error is measured, timerCount how many: a
	// third of a second in all.
	timerStep  = time.Millisecond
	timerCount = 300
)

// Calibrate measures how late waits of a millisecond end on this machine, in the way in which the
// engine of a plan waits. It ends with ctx, whose error it returns then.
func Calibrate(ctx context.Context, p Plan) (*Calibration, error) {
	e := portable
	if p.Engine != "portable" {
		var err error
		if e, err = raw(&p); err != nil {
			return nil, err
		}
	}
	t, err := e.transport()
	if err != nil {
		return nil, err
	}
	defer t.end()
	defer t.hold()()
	c := &Calibration{Timer: measureTimer(ctx, timerCount, func(d time.Duration) { t.wait(ctx, d, nil) })}
	c.LateAfter = lateAfter(c.Timer)
	return c, ctx.Err()
}

func measureTimer(ctx context.Context, n int, wait func(time.Duration)) Distribution {
	late := newHistogram()
	for late.TotalCount() < int64(n) && ctx.Err() == nil {
		began := time.Now()
		wait(timerStep)
		// One that a signal interrupted ends early.
		if took := time.Since(began); took >= timerStep {
			record(late, int64(took-timerStep))
		}
	}
	d := distribution(late)
	if d == nil {
		return Distribution{}
	}
	d.Curve = nil // which nothing draws
	return *d
}

// lateAfter is what the error of the timers excuses: at least defaultLate, at most what the
// system's timers may be wrong by.
func lateAfter(timer Distribution) time.Duration {
	const step = 10 * time.Microsecond // finer digits mean nothing
	return min(max(defaultLate, (timer.P99+step-1)/step*step), mostLateAfter)
}
