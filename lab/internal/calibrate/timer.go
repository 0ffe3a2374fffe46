package calibrate

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
)

// timerStep is how long the timers are whose error is measured.
const timerStep = time.Millisecond

// Timer measures how late n waits of a millisecond end, on a thread of its own
// and in the way the generator waits: on Linux with epoll_pwait2(2), elsewhere
// with the runtime's timers. It ends with ctx, with what there is; the error is that of ctx, or of
// the system.
func Timer(ctx context.Context, n int) (load.Distribution, error) {
	wait, done, err := newWait()
	if err != nil {
		return load.Distribution{}, err
	}
	defer done()
	return timer(ctx, n, wait)
}

// GoTimer is Timer with the runtime's timers, which the generator's portable
// engine waits with.
func GoTimer(ctx context.Context, n int) (load.Distribution, error) {
	return timer(ctx, n, time.Sleep)
}

func timer(ctx context.Context, n int, wait func(time.Duration)) (load.Distribution, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	late := make([]time.Duration, 0, n)
	for len(late) < n && ctx.Err() == nil {
		began := time.Now()
		wait(timerStep)
		// One that a signal interrupted ends early.
		if took := time.Since(began); took >= timerStep {
			late = append(late, took-timerStep)
		}
	}
	return distribution(late), ctx.Err()
}

// distribution describes some thousand times at most, which it sorts: precise,
// unlike a histogram. That of none is zero.
func distribution(times []time.Duration) load.Distribution {
	if len(times) == 0 {
		return load.Distribution{}
	}
	slices.Sort(times)
	n := len(times)
	var sum time.Duration
	for _, t := range times {
		sum += t
	}
	// The least value that is not exceeded by a share of q.
	at := func(q float64) time.Duration { return times[min(n-1, int(q*float64(n)))] }
	return load.Distribution{
		Count: uint64(n), Min: times[0], Mean: sum / time.Duration(n), Max: times[n-1],
		P50: at(0.50), P90: at(0.90), P99: at(0.99), P999: at(0.999),
	}
}
