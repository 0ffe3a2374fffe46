package load

import (
	"context"
	"errors"
	"time"
)

// Progress is how far a run is.
type Progress struct {
	Elapsed   time.Duration // since the warm-up began
	Measuring bool          // it is over
	Second    Second        // the window that has just ended; of the warm-up At counts from its begin
	Errors    uint64
}

// Run puts the load of a plan on its target and returns what it came to. It returns
// an error only when it could not begin: an ErrPlan, or a target that does not take the
// connections. When ctx ends, or the target does, the result has what there was until
// then.
//
// progress, if it is not nil, is told after each window of the time series, on
// one goroutine, and must return soon.
func Run(ctx context.Context, p Plan, progress func(Progress)) (*Result, error) {
	return nil, errors.New("load: not there yet")
}
