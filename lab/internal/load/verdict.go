package load

import (
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/units"
)

// outOfCPU is the busy part of the time from which on the generator counts as out of CPU.
const outOfCPU = 0.95

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
	switch share := r.FailedShare(); {
	case share <= tolerable || r.Lost == r.FailedRequests() && !s.plan.Redial: // a broken connection has been named
	case r.Lost > 0:
		invalid(RepliesFailed, "%.1f %% of the requests failed, %d of them without an answer: the latency is not that of what was asked for", 100*share, r.Lost)
	default:
		invalid(RepliesFailed, "%.1f %% of the replies are failures: the latency is not that of what was asked for", 100*share)
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

// FailedRequests is how many requests failed: without an answer, or with one that says so.
func (r *Result) FailedRequests() uint64 {
	n := r.Lost
	for _, c := range r.Replies {
		if c.Failed {
			n += c.Count
		}
	}
	return n
}

// FailedShare is their share of all that were answered or lost.
func (r *Result) FailedShare() float64 {
	return float64(r.FailedRequests()) / float64(max(1, r.Requests+r.Lost))
}

func rateText(p *Plan) string { return units.Number(p.Rate) + " requests a second" }
