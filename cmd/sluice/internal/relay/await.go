package relay

import (
	"context"
	"math"
	"time"
)

// awaitStep is how often what is awaited is looked at.
const awaitStep = 20 * time.Millisecond

// await returns when done does, or ctx is over.
func await(ctx context.Context, done func() bool) {
	tick := time.NewTicker(awaitStep)
	defer tick.Stop()
	awaitSteps(ctx, tick.C, math.MaxInt, done)
}

// awaitSteps returns when done does, after so many ticks, or when ctx is over. A ticker does not
// make up for ticks that a machine has stood still for: this counts time in which others could go on.
func awaitSteps(ctx context.Context, tick <-chan time.Time, steps int, done func() bool) {
	for ; !done() && steps > 0; steps-- {
		select {
		case <-tick:
		case <-ctx.Done():
			return
		}
	}
}
