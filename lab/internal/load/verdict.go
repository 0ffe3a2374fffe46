package load

import (
	"fmt"
	"time"
)

// outOfCPU is from which part of the time on the generator counts as out of it.
const outOfCPU = 0.95

// judge decides whether a run says something about its target, and takes the
// latencies off one that does not.
func (s *session) judge(r *Result) {
	invalid := func(format string, args ...any) { r.Reasons = append(r.Reasons, fmt.Sprintf(format, args...)) }
	switch {
	case r.Measured <= 0:
		invalid("it ended within the warm-up")
	case r.Requests == 0:
		invalid("nothing was answered within the time measured")
	}
	if r.Errors > 0 && !s.plan.Redial {
		invalid("the target failed: %s", r.Error)
	}
	// What is late, or not sent, because the generator was told to be a bad client is not
	// held against it.
	if !s.plan.Faults.Any() {
		if r.Shortfall > tolerable && !r.Interrupted {
			invalid("%.1f %% of the requests that were due had not been sent at the end: the target does not take %s", 100*r.Shortfall, rateText(s.plan))
		}
		if r.Late > tolerable {
			invalid("%.1f %% of the requests were sent more than %v late although there was room for them: the generator does not keep %s",
				100*r.Late, time.Duration(s.late), rateText(s.plan))
		}
		if r.Busy > outOfCPU {
			invalid("the generator was out of CPU (busy %.0f %% of the time): the target may be able to do more", 100*r.Busy)
		}
	}
	if r.Valid = len(r.Reasons) == 0; !r.Valid {
		r.Latency, r.Service, r.P99s, r.Jitters, r.Jitter = nil, nil, nil, nil, 0
	}
}

// rateText is a plan's rate in words.
func rateText(p *Plan) string {
	unit := "requests"
	if p.RateBytes {
		unit = "bytes"
	}
	if p.Rate >= 1000 {
		return fmt.Sprintf("%.0f %s a second", p.Rate, unit)
	}
	return fmt.Sprintf("%.4g %s a second", p.Rate, unit)
}
