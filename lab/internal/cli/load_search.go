package cli

import (
	"context"
	"fmt"
	"os/signal"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// searchTime is how long a step of a search takes unless --duration says otherwise.
const searchTime = 3 * time.Second

var searchQuantiles = map[string]float64{"P50": 0.5, "P90": 0.9, "P99": 0.99, "P99.9": 0.999}

// parseLimit reads "P99=5ms".
func parseLimit(text string) (load.Limit, error) {
	name, value, _ := strings.Cut(text, "=")
	q, known := searchQuantiles[strings.ToUpper(strings.TrimSpace(name))]
	d, err := time.ParseDuration(strings.TrimSpace(value))
	if !known || err != nil || d <= 0 {
		return load.Limit{}, fmt.Errorf("load: --search: %.40q is not a limit such as P99=5ms, of P50, P90, P99 or P99.9", text)
	}
	return load.Limit{Quantile: q, Latency: d}, nil
}

// runSearch looks for the highest rate within a limit.
func (c loadCommand) runSearch(f *loadFlags, args []string) error {
	if err := f.check(args); err != nil {
		return err
	}
	limit, err := parseLimit(f.search)
	if err != nil {
		return err
	}
	if !f.changed("duration") {
		f.plan.Duration = searchTime
	}
	people := c.Stdout
	if f.json == "-" {
		people = c.Stderr
	}
	ctx, stop := signal.NotifyContext(context.Background(), interrupts()...)
	defer stop()
	found, err := load.Search(ctx, f.plan, limit, func(s load.Step) {
		says := "exceeded"
		switch {
		case s.Holds:
			says = "holds"
		case len(s.Reasons) > 0:
			says = load.Texts(s.Reasons)
		}
		latency := "-"
		if s.Latency > 0 {
			latency = units.Time(s.Latency)
		}
		fmt.Fprintf(people, "%12s/s  %10s  %s\n", units.Number(s.Rate), latency, says)
	})
	if err != nil {
		return loadFailure(ctx, err)
	}
	if ctx.Err() != nil {
		return &exitError{ExitUnusable, fmt.Errorf("load: interrupted before the search came to an end")}
	}
	switch {
	case found.Rate == 0:
		fmt.Fprintf(people, "%s holds at no rate that was tried\n", f.search)
	default:
		fmt.Fprintf(people, "%s holds up to %s requests/s\n", f.search, units.Number(found.Rate))
	}
	if found.Generator {
		fmt.Fprintln(people, "above that the generator was the limit: the target may be able to do more")
	}
	if err := c.putJSON(f.json, found); err != nil {
		return fail(err)
	}
	if found.Rate == 0 {
		return &exitError{ExitUnusable, nil}
	}
	return nil
}
