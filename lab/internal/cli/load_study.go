package cli

import (
	"fmt"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/calibrate"
	"github.com/sluice-go/sluice/lab/internal/load"
)

// A studyPage is what people read of a calibration.
type studyPage struct{ loadPage }

// columns of the table of rounds; a row is printed when its round has ended.
const studyRow = "%-7s %12s %14s %12s %14s %10s %7s"

func (t studyPage) row(cells ...any) {
	t.line("%s", strings.TrimRight(fmt.Sprintf(studyRow, cells...), " "))
}

func (t studyPage) head(p *load.Plan, rounds int) {
	target := p.Target
	if target == "" {
		target = "against a target of its own"
	}
	t.line("%s %s: %s, %s, %s", p.Protocol, target, plural(p.Conns, "connection"), sizes(p.Sizes), loop(p))
	t.line("%s of %v", plural(rounds, "round"), p.Duration)
	t.line("")
	t.row("round", "throughput", "requests/s", "service", "theory", "reached", "busy")
}

func (t studyPage) round(n int, r *calibrate.Round) {
	service, theory, reached := unknown, unknown, unknown
	if r.Theory > 0 {
		service, theory, reached = span(r.Service), number(r.Theory), percent(r.Ratio)
	}
	name := fmt.Sprint(n)
	if !r.Valid {
		name += " !"
	}
	t.row(name, byteRate(r.Throughput), number(r.IOPS), service, theory, reached, percent(r.Busy))
}

func (t studyPage) sums(r *calibrate.Result) {
	if len(r.Rounds) > 0 {
		t.row("mean", byteRate(r.Throughput.Mean), number(r.IOPS.Mean), "", "", ratioText(r.Ratio), "")
	}
	if len(r.Rounds) > 1 {
		t.row("stddev", byteRate(r.Throughput.StdDev), number(r.IOPS.StdDev), "", "", "", "")
		t.row("CV", percent(r.Throughput.CV), percent(r.IOPS.CV), "", "", "", "")
	}
	t.line("")
	seen := map[string]bool{}
	for i, round := range r.Rounds {
		for _, reason := range round.Reasons {
			if !seen[reason] {
				seen[reason] = true
				t.line("! INVALID, round %d: %s", i+1, oneLine(reason))
			}
		}
	}
	if r.Stopped {
		t.line("INTERRUPTED: %d of %s", len(r.Rounds), plural(r.Asked, "round"))
	}
	switch {
	case len(r.Rounds) > 1:
		t.line("The throughput of %s has a standard deviation of %s, %s of the mean.",
			plural(len(r.Rounds), "round"), byteRate(r.Throughput.StdDev), percent(r.Throughput.CV))
	case len(r.Rounds) == 1:
		t.line("One round has no standard deviation.")
	default:
		t.line("No round was finished.")
	}
	if r.Ratio.N > 0 {
		t.line("With %s under way, %s of what Little's law allows was reached.", plural(r.Plan.Conns*r.Plan.Depth, "request"), percent(r.Ratio.Mean))
	} else if len(r.Rounds) > 0 {
		t.line("No round has a service time, so there is no theory to hold the requests against.")
	}
}

func ratioText(s calibrate.Spread) string {
	if s.N == 0 {
		return unknown
	}
	return percent(s.Mean)
}
