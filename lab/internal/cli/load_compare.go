package cli

import (
	"context"
	"fmt"
	"os/signal"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/stats"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// pairTime is how long two targets are compared unless --duration says otherwise.
const pairTime = time.Minute

// runPair compares two targets.
func (c loadCommand) runPair(f *loadFlags, args []string, given bool) error {
	if len(args) != 2 {
		return fmt.Errorf("load: --compare wants two addresses, got %d", len(args))
	}
	if err := f.check(args[:1]); err != nil {
		return err
	}
	if !given {
		f.plan.Duration = pairTime
	}
	ctx, stop := signal.NotifyContext(context.Background(), interrupts()...)
	defer stop()
	progress := newLoadProgress(c.Stderr)
	pair, err := load.Compare(ctx, f.plan, [2]string{args[0], args[1]}, func(round int) {
		if progress.live {
			progress.show(fmt.Sprintf("round %d", round))
		}
	})
	progress.clear()
	if err != nil {
		return loadFailure(ctx, err)
	}
	people := c.Stdout
	if f.json == "-" {
		people = c.Stderr
	}
	fmt.Fprintf(people, "%s to %s, %s; %d left out, in which the generator was the limit\n", args[1], args[0], units.Plural(pair.Rounds, "round"), pair.Invalid)
	line := func(name string, r *stats.Comparison, verdict string) {
		if r != nil {
			fmt.Fprintf(people, "%-10s %s  %s .. %s  %s\n", name, units.Ratio(r.Median), units.Ratio(r.Lo), units.Ratio(r.Hi), verdict)
		}
	}
	line("P50", &pair.Median, pair.Median.Verdict.String())
	line("P99", pair.Tail, "not judged")
	line("requests/s", pair.Requests, "not judged")
	return c.putJSON(f.json, pair)
}
