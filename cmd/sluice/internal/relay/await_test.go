package relay

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A machine that stands still for longer than all steps together takes one of them.
func TestStandstillIsOneStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tick := make(chan time.Time, 1) // as a ticker's
		looked, over := 0, make(chan struct{})
		go func() {
			defer close(over)
			awaitSteps(context.Background(), tick, 3, func() bool { looked++; return false })
		}()
		for want := 1; want <= 3; want++ {
			synctest.Wait()
			if looked != want {
				t.Fatalf("looked %d times, want %d", looked, want)
			}
			<-time.After(time.Hour)
			tick <- time.Now()
		}
		<-over
		if looked != 4 {
			t.Errorf("looked %d times", looked)
		}
	})
}
