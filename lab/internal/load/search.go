package load

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice/lab/internal/machine"
)

// A Limit is what the latency of requests must not exceed.
type Limit struct {
	Quantile float64       `json:"quantile"` // 0.5, 0.9, 0.99 or 0.999
	Latency  time.Duration `json:"latency_ns"`
}

func (l Limit) of(d *Distribution) time.Duration {
	return map[float64]time.Duration{0.5: d.P50, 0.9: d.P90, 0.99: d.P99, 0.999: d.P999}[l.Quantile]
}

// A Step is one run of a search.
type Step struct {
	Rate      float64       `json:"rate"` // requests a second
	Latency   time.Duration `json:"latency_ns,omitempty"`
	Holds     bool          `json:"holds"`
	Generator bool          `json:"generator,omitempty"` // it does not because of the generator
	Reasons   []Reason      `json:"reasons,omitempty"`   // why the run was invalid
}

// A Found is the result of a search for the highest rate within a limit.
type Found struct {
	machine.Origin         // the caller's to set
	Limit          Limit   `json:"limit"`
	Rate           float64 `json:"rate"` // the highest at which it held, in two runs; 0 if it never did
	Steps          []Step  `json:"steps"`
	// Generator: the generator, not the target, was the limit above Rate, so that the
	// target may be able to do more.
	Generator bool `json:"generator,omitempty"`
}

const (
	firstSearchRate = 100
	// searchPrecision is how close the lowest rate that is too high comes to Rate.
	searchPrecision = 1.05
	mostSteps       = 40
)

// Search looks for the highest rate at which a limit holds: it doubles the rate from
// the plan's, or 100 a second, until the limit is exceeded, halves the distance until
// the rate is known within 5 %, and runs the highest that held once more. Each step takes the
// plan's warm-up and duration, and has so many requests that one of them is beyond the
// quantile: with fewer the slowest would decide alone. step, if it is not nil, is called after
// each. A target that fails is an error; when ctx ends, the result has the steps up to then.
func Search(ctx context.Context, p Plan, limit Limit, step func(Step)) (*Found, error) {
	return search(ctx, p, limit, step, Run)
}

type runFunc func(context.Context, Plan, func(Progress)) (*Result, error)

func search(ctx context.Context, p Plan, limit Limit, step func(Step), run runFunc) (*Found, error) {
	f := &Found{Limit: limit}
	least := max(1, 1/(1-limit.Quantile)/p.Duration.Seconds())
	b := bracket{least: least, next: max(least, cmp.Or(p.Rate, firstSearchRate))}
	for len(f.Steps) < mostSteps && b.next >= least {
		p.Rate = b.next
		r, err := run(ctx, p, nil)
		if err != nil && ctx.Err() == nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return f, nil
		}
		s := judgeStep(r, limit)
		if r.Errors > 0 && b.low == 0 {
			return nil, fmt.Errorf("load: at %.0f requests a second: %s", p.Rate, r.Error)
		}
		f.Steps = append(f.Steps, s)
		if step != nil {
			step(s)
		}
		if !s.Holds {
			f.Generator = s.Generator
		}
		if b.note(s.Holds) {
			f.Rate = p.Rate
			return f, nil
		}
	}
	return f, nil
}

func judgeStep(r *Result, limit Limit) Step {
	s := Step{Rate: r.Plan.Rate, Reasons: r.Reasons}
	if r.Latency != nil {
		s.Latency = limit.of(r.Latency)
		s.Holds = r.Valid && s.Latency <= limit.Latency
	}
	has := func(code Code) bool {
		return slices.ContainsFunc(r.Reasons, func(reason Reason) bool { return reason.Code == code })
	}
	s.Generator = (has(GeneratorLate) || has(GeneratorFull)) && !has(RepliesFailed) && !has(TargetFailed)
	return s
}

type bracket struct {
	low, high float64 // it held, it did not; 0 when not known
	held      int     // how often it held at low
	least     float64 // that may be tried
	next      float64 // to try
}

func (b *bracket) note(holds bool) (found bool) {
	switch {
	case holds && b.next == b.low:
		b.held++
	case holds:
		b.low, b.held = b.next, 1
	default:
		if b.high = b.next; b.low >= b.high {
			b.low, b.held = b.high/searchPrecision, 0 // it had held by chance
		}
	}
	switch {
	case b.high == 0:
		b.next = b.low * 2
	case b.low == 0 && b.high > b.least:
		b.next = max(b.high/2, b.least)
	case b.low == 0:
		b.next = 0
	case b.high/b.low > searchPrecision*1.001:
		b.next = (b.low + b.high) / 2
	case b.held >= 2:
		return true
	default:
		b.next = b.low
	}
	return false
}
