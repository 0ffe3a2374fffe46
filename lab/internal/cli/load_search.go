package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/report"
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
	people := c.people(f.json)
	ctx, stop := interruptible()
	defer stop()
	began := time.Now()
	found, err := load.Search(ctx, f.plan, limit, func(s load.Step) { fmt.Fprintln(people, report.StepText(s)) })
	if err != nil {
		return loadFailure(ctx, err)
	}
	if ctx.Err() != nil {
		return &exitError{ExitUnusable, fmt.Errorf("load: interrupted before the search came to an end")}
	}
	found.Origin = c.origin(load.SearchKind, load.Schema, began)
	if err := printed(people, document.Say(report.FoundText(found))); err != nil {
		return fail(err)
	}
	if err := c.putJSON(f.json, found); err != nil {
		return fail(err)
	}
	if found.Rate == 0 {
		return &exitError{ExitUnusable, nil}
	}
	return nil
}
