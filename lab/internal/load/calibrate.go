package load

import (
	"context"
	"time"
)

// defaultLate is how late a send may be unless the plan says otherwise.
const defaultLate = time.Millisecond

const (
	// timerStep is how long the timers are whose error is measured, timerCount how many: a
	// third of a second in all.
	timerStep  = time.Millisecond
	timerCount = 300
)

// Calibrate measures how late waits of a millisecond end on this machine, in the way in which the
// engine of a plan waits. It ends with ctx, whose error it returns then.
func Calibrate(ctx context.Context, p Plan) (*Calibration, error) {
	e := portable
	if p.Engine != "portable" {
		var err error
		if e, err = raw(&p); err != nil {
			return nil, err
		}
	}
	t, err := e.transport()
	if err != nil {
		return nil, err
	}
	defer t.end()
	defer t.hold()()
	c := &Calibration{Timer: measureTimer(ctx, timerCount, func(d time.Duration) { t.wait(ctx, d, nil) })}
	c.LateAfter = lateAfter(c.Timer)
	return c, ctx.Err()
}

func measureTimer(ctx context.Context, n int, wait func(time.Duration)) Distribution {
	late := newHistogram()
	for late.TotalCount() < int64(n) && ctx.Err() == nil {
		began := time.Now()
		wait(timerStep)
		// One that a signal interrupted ends early.
		if took := time.Since(began); took >= timerStep {
			record(late, int64(took-timerStep))
		}
	}
	d := distribution(late)
	if d == nil {
		return Distribution{}
	}
	d.Curve = nil // which nothing draws
	return *d
}

// lateAfter is what the error of the timers excuses: at least defaultLate, at most what the
// system's timers may be wrong by.
func lateAfter(timer Distribution) time.Duration {
	const step = 10 * time.Microsecond // finer digits mean nothing
	return min(max(defaultLate, (timer.P99+step-1)/step*step), mostLateAfter)
}
