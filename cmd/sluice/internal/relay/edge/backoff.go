package edge

import (
	"math/rand/v2"
	"time"
)

// backoff is how long to wait before the next attempt.
type backoff struct {
	first, most time.Duration
	next        time.Duration
}

// wait returns a time between half of the step and the step, so that edges
// which lost the same origin do not come back at once, and doubles the step.
func (b *backoff) wait() time.Duration {
	step := max(b.next, b.first)
	b.next = min(2*step, b.most)
	return step/2 + rand.N(step/2+1)
}

func (b *backoff) reset() { b.next = 0 }
