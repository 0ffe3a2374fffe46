package load

import (
	"context"
	"runtime"
	"slices"
	"time"
)

const (
	// timerStep is how long the timers are whose error is measured, timerCount how many: a
	// third of a second in all.
	timerStep  = time.Millisecond
	timerCount = 300
)

// Calibrate measures how late waits of a millisecond end on this machine, on a thread of its own
// and in the way the engine of a plan waits. It ends with ctx, whose error it returns then.
func Calibrate(ctx context.Context, p Plan) (*Calibration, error) {
	wait, done, err := time.Sleep, func() {}, error(nil)
	if p.Engine != "portable" {
		if wait, done, err = newWait(); err != nil {
			return nil, err
		}
	}
	defer done()
	c := &Calibration{Timer: measureTimer(ctx, timerCount, wait)}
	c.LateAfter = lateAfter(c.Timer)
	return c, ctx.Err()
}

func measureTimer(ctx context.Context, n int, wait func(time.Duration)) Distribution {
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
	return exactly(late)
}

// exactly describes some thousand times at most, which it sorts: precise, unlike a histogram.
// The description of none is zero.
func exactly(times []time.Duration) Distribution {
	if len(times) == 0 {
		return Distribution{}
	}
	slices.Sort(times)
	n := len(times)
	var sum time.Duration
	for _, t := range times {
		sum += t
	}
	// The least value that is not exceeded by a share of q.
	at := func(q float64) time.Duration { return times[min(n-1, int(q*float64(n)))] }
	return Distribution{
		Count: uint64(n), Min: times[0], Mean: sum / time.Duration(n), Max: times[n-1],
		P50: at(0.50), P90: at(0.90), P99: at(0.99), P999: at(0.999),
	}
}

// lateAfter is what the error of the timers excuses: at least defaultLate, at most what the
// system's timers may be wrong by.
func lateAfter(timer Distribution) time.Duration {
	const step = 10 * time.Microsecond // finer digits mean nothing
	return min(max(defaultLate, (timer.P99+step-1)/step*step), mostLateAfter)
}
