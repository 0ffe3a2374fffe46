package calibrate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
)

// How long the ceiling is looked for.
const (
	ceilingWarmup = 200 * time.Millisecond
	ceilingTime   = time.Second
)

// runner is load.Run, or what tests have instead.
type runner func(context.Context, load.Plan, func(load.Progress)) (*load.Result, error)

// A Ceiling is what the generator reaches against a target that does nothing but
// answer.
type Ceiling struct {
	PerSecond float64       // requests
	CPUPerOp  float64       // nanoseconds of the generator
	Took      time.Duration // what it was measured over
}

// FindCeiling runs the plan as a closed loop against a target in a process of its
// own, of the program self, that only answers: more than that the generator cannot
// send. Both share the machine, as a generator and a target on it do.
func FindCeiling(ctx context.Context, plan load.Plan, self string) (Ceiling, error) {
	return findCeiling(ctx, plan, self, load.Run)
}

func findCeiling(ctx context.Context, plan load.Plan, self string, run runner) (Ceiling, error) {
	floor, err := startFloor(ctx, self, plan.Protocol)
	if err != nil {
		return Ceiling{}, err
	}
	defer floor.Stop()
	plan = bare(plan)
	plan.Target = floor.addr
	plan.Warmup, plan.Duration = ceilingWarmup, ceilingTime
	r, err := run(ctx, plan, nil)
	if err != nil {
		return Ceiling{}, fmt.Errorf("calibrate: the generator's ceiling: %w", err)
	}
	if ctx.Err() != nil {
		return Ceiling{}, ctx.Err()
	}
	// That the generator was the limit makes such a run invalid, and is the purpose.
	if r.Requests == 0 {
		why := r.Error
		if why == "" {
			why = "no request was answered in time"
		}
		return Ceiling{}, fmt.Errorf("calibrate: the generator's ceiling: %w", errors.New(why))
	}
	return Ceiling{r.IOPS, r.Generator.CPUPerOp, r.Measured}, nil
}

// bare is a plan as a closed loop without what is about the target that it was
// made for.
func bare(plan load.Plan) load.Plan {
	plan.Rate, plan.RateBytes = 0, false
	plan.PID, plan.AckFile, plan.Redial = 0, "", false
	return plan
}
