package calibrate

import (
	"context"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
)

// How much a calibration measures: about two seconds in all.
const (
	timerCount    = 300
	loopbackCount = 3000
	// loopbackTime ends it earlier on a machine on which a round trip takes
	// long.
	loopbackTime = 300 * time.Millisecond
)

// leastLateAfter is how late a send may be at least before it counts as late;
// mostLateAfter depends on the system.
const leastLateAfter = time.Millisecond

// Run calibrates for a plan, in about two seconds: the error of the timers, the
// floor of loopback, and the ceiling of the generator against a target of the
// program self. When ctx ends the error is its own.
func Run(ctx context.Context, plan load.Plan, self string) (*load.Calibration, error) {
	return calibrate(ctx, plan, self, load.Run)
}

func calibrate(ctx context.Context, plan load.Plan, self string, run runner) (*load.Calibration, error) {
	measure := Timer
	if plan.Engine == "portable" {
		measure = GoTimer
	}
	timer, err := measure(ctx, timerCount)
	if err != nil {
		return nil, err
	}
	limited, stop := context.WithTimeout(ctx, loopbackTime)
	loopback, err := Loopback(limited, loopbackCount)
	stop()
	if err != nil && (ctx.Err() != nil || limited.Err() == nil) {
		return nil, err
	}
	var ceiling Ceiling // unknown where the floor does not speak the target's protocol
	if plan.Plain() {
		if ceiling, err = findCeiling(ctx, plan, self, run); err != nil {
			return nil, err
		}
	}
	return &load.Calibration{
		Timer: timer, LateAfter: lateAfter(timer), Loopback: loopback,
		Ceiling: ceiling.PerSecond, CeilingCPU: ceiling.CPUPerOp,
	}, nil
}

// lateAfter is what the error of the timers excuses.
func lateAfter(timer load.Distribution) time.Duration {
	const step = 10 * time.Microsecond // finer digits mean nothing
	return min(max(leastLateAfter, (timer.P99+step-1)/step*step), mostLateAfter)
}
