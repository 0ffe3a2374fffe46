package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load/wire"
	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/stats"
)

// A Pair is two targets under the same load in interleaved rounds. Ratios are of the
// second to the first, within rounds, so that what slows both cancels.
type Pair struct {
	machine.Origin           // the caller's to set
	Targets        [2]string `json:"targets"`
	Rounds         int       `json:"rounds"`
	Invalid        int       `json:"invalid"` // rounds that were left out
	// Median alone has a verdict: of fifty pairs of equal targets, about one is called
	// different. The others are only shown.
	Median   stats.Comparison  `json:"median"`
	Tail     *stats.Comparison `json:"tail,omitempty"`     // P99
	Requests *stats.Comparison `json:"requests,omitempty"` // a second
}

// ErrInvalid is a comparison in which no round was valid.
var ErrInvalid = errors.New("is invalid")

// pairRound is how long one target is measured in a round, behind pairWarmup: many short
// rounds say more than few long ones.
const (
	pairRound  = 400 * time.Millisecond
	pairWarmup = 100 * time.Millisecond
)

// pairFigures are those of one target by round: P50, P99, and requests a second.
type pairFigures [3][]float64

// Compare puts the load of a plan on two targets alternately until the plan's duration has
// passed. Both halves of a round have the same schedule, and the targets swap their order
// in every round. When ctx ends, the complete rounds count. An invalid round is left out; a
// target that fails, or no valid round at all (ErrInvalid), is an error.
func Compare(ctx context.Context, p Plan, targets [2]string, progress func(round int)) (*Pair, error) {
	end := time.Now().Add(p.Duration)
	p.Duration, p.Warmup = pairRound, pairWarmup
	var figures [2]pairFigures
	var invalid error
	left := 0
	for round := 0; time.Now().Before(end) && ctx.Err() == nil; round++ {
		var results [2]*Result
		for half := range 2 {
			which := (round + half) % 2
			p.Target = targets[which]
			r, err := Run(ctx, p, nil)
			switch {
			case err != nil && ctx.Err() == nil:
				return nil, err
			case err != nil || r.Interrupted: // also before a round has connected
			case r.Errors > 0:
				return nil, fmt.Errorf("load: %s: %s", p.Public().Target, r.Error)
			case !r.Valid:
				invalid = fmt.Errorf("load: round %d with %s %w: %s", round+1, p.Public().Target, ErrInvalid, Texts(r.Reasons))
			case r.Latency == nil:
				return nil, fmt.Errorf("load: round %d with %s: nothing was answered", round+1, p.Public().Target)
			default:
				results[which] = r
			}
		}
		if results[0] == nil || results[1] == nil {
			if ctx.Err() == nil {
				left++
			}
			continue
		}
		for i, r := range results {
			for k, v := range []float64{float64(r.Latency.P50), float64(r.Latency.P99), r.IOPS} {
				figures[i][k] = append(figures[i][k], v)
			}
		}
		p.Seed++
		if progress != nil {
			progress(round + 1)
		}
	}
	if len(figures[0][0]) == 0 && invalid != nil {
		return nil, invalid
	}
	pair, err := newPair(targets, figures[0], figures[1])
	if err == nil {
		pair.Invalid = left
	}
	return pair, err
}

func newPair(targets [2]string, a, b pairFigures) (*Pair, error) {
	targets[0], targets[1] = wire.Public(targets[0]), wire.Public(targets[1])
	var c [3]*stats.Comparison // nil where there is no ratio
	for k := range c {
		if ratios := stats.Ratios(b[k], a[k]); len(ratios) > 0 {
			one := stats.Compare(ratios)
			c[k] = &one
		}
	}
	if c[0] == nil {
		return nil, fmt.Errorf("load: no whole round of %s and %s", targets[0], targets[1])
	}
	return &Pair{Targets: targets, Rounds: len(a[0]), Median: *c[0], Tail: c[1], Requests: c[2]}, nil
}
