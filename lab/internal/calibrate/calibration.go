package calibrate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
)

// How much a calibration measures: about two seconds in all.
const (
	timerCount   = 300
	loopbackTime = 300 * time.Millisecond
	attempts     = 3 // at each: other programs may have had the processors
	ceilingTime  = time.Second
	warmup       = 100 * time.Millisecond
)

// leastLateAfter is how late a send may be at least before it counts as late;
// mostLateAfter depends on the system.
const leastLateAfter = time.Millisecond

// runner is load.Run, or what tests have instead.
type runner func(context.Context, load.Plan, func(load.Progress)) (*load.Result, error)

// Run calibrates for a plan, in about two seconds: the error of the timers; and, against
// a target in a process of the program self that only answers, what a request costs at
// least, and how many the generator can send: in a closed loop, sharing the machine as a
// generator and a target on it do. When ctx ends the error is its own.
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
	c := &load.Calibration{Timer: timer, LateAfter: lateAfter(timer)}
	known := plan.Plain() // the target speaks the plan's protocol: else the ceiling is unknown
	ping := load.Default()
	ping.Engine, ping.Conns, ping.Depth, ping.Sizes, ping.Duration = plan.Engine, 1, 1, load.OneSize(64), loopbackTime
	if known {
		ping.Protocol = plan.Protocol
	}
	floor, err := startFloor(ctx, self, ping.Protocol)
	if err != nil {
		return nil, err
	}
	defer floor.Stop()
	against := func(p load.Plan) (*load.Result, error) {
		p.Target, p.Warmup = floor.addr, warmup
		r, err := run(ctx, p, nil)
		for try := 1; try < attempts && err == nil && ctx.Err() == nil && r.Requests == 0 && r.Error == ""; try++ {
			r, err = run(ctx, p, nil)
		}
		switch {
		case err != nil:
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case r.Requests > 0:
			return r, nil // also when it is invalid: that the generator was the limit is the purpose
		case r.Error != "":
			err = errors.New(r.Error)
		default:
			err = errors.New("no request was answered in time")
		}
		return nil, fmt.Errorf("calibrate: the generator's ceiling: %w", err)
	}
	var r *load.Result
	for try := 0; try < attempts && c.Loopback.Count == 0; try++ {
		if r, err = against(ping); err != nil {
			return nil, err
		}
		if r.Latency != nil { // the run was valid
			c.Loopback = *r.Latency
			c.Loopback.Curve = nil
		}
	}
	if known {
		plan = bare(plan)
		plan.Duration = ceilingTime
		if r, err = against(plan); err != nil {
			return nil, err
		}
		c.Ceiling, c.CeilingCPU = r.IOPS, r.Generator.CPUPerOp
	}
	return c, nil
}

// bare is a plan as a closed loop without what is about the target that it was
// made for.
func bare(plan load.Plan) load.Plan {
	plan.Rate, plan.RateBytes = 0, false
	plan.PID, plan.AckFile, plan.Redial = 0, "", false
	return plan
}

// lateAfter is what the error of the timers excuses.
func lateAfter(timer load.Distribution) time.Duration {
	const step = 10 * time.Microsecond // finer digits mean nothing
	return min(max(leastLateAfter, (timer.P99+step-1)/step*step), mostLateAfter)
}
