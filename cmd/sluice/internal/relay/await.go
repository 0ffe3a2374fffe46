package relay

import (
	"context"
	"time"
)

// await returns when done does, or ctx is over.
func await(ctx context.Context, done func() bool) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
