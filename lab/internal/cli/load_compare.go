package cli

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/report"
)

// pairTime is how long two targets are compared unless --duration says otherwise.
const pairTime = time.Minute

// runPair compares two targets.
func (c loadCommand) runPair(f *loadFlags, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("load: --compare wants two addresses, got %d", len(args))
	}
	if err := f.check(args[:1]); err != nil {
		return err
	}
	if !f.changed("duration") {
		f.plan.Duration = pairTime
	}
	ctx, stop := interruptible()
	defer stop()
	progress, began := newProgress(c.Stderr), time.Now()
	pair, err := load.Compare(ctx, f.plan, [2]string{args[0], args[1]}, func(round int) {
		if progress.live {
			progress.show(fmt.Sprintf("round %d", round))
		}
	})
	progress.clear()
	if err != nil {
		return loadFailure(ctx, err)
	}
	people := c.people(f.json)
	pair.Origin = c.origin(load.PairKind, load.Schema, began)
	if err := printed(people, report.Pair(pair)...); err != nil {
		return fail(err)
	}
	return c.putJSON(f.json, pair)
}
