package report

import (
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/stats"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// Pair is what came of two targets under the same load.
func Pair(p *load.Pair) []document.Item {
	t := &document.Table{Columns: document.Columns("figure", "ratio", "95 %", "verdict")}
	t.Columns[3].Left = true
	row := func(name string, c *stats.Comparison, verdict document.Cell) {
		if c == nil {
			return
		}
		t.Rows = append(t.Rows, document.Row{Cells: []document.Cell{{Text: name}, barCell(&c.Interval), rangeCell(&c.Interval), verdict}})
	}
	row("P50", &p.Median, pairVerdict(p))
	row("P99", p.Tail, document.Cell{Text: "not judged", Style: document.Dim})
	row("requests/s", p.Requests, document.Cell{Text: "not judged", Style: document.Dim})
	return []document.Item{
		document.Say(fmt.Sprintf("%s to %s, %s; %d left out, in which the generator was the limit", p.Targets[1], p.Targets[0], units.Plural(p.Rounds, "round"), p.Invalid)), t,
	}
}

// StepText is a line about one rate that a search tried.
func StepText(s load.Step) string {
	return fmt.Sprintf("%12s/s  %10s  %s", units.Number(s.Rate), units.Time(s.Latency), outcome(s))
}

func outcome(s load.Step) string {
	switch {
	case s.Holds:
		return "holds"
	case len(s.Reasons) > 0:
		return load.Texts(s.Reasons)
	}
	return "exceeded"
}

// FoundText says what a search came to.
func FoundText(f *load.Found) string {
	text := fmt.Sprintf("P%g within %s holds ", f.Limit.Quantile*100, units.Time(f.Limit.Latency))
	if f.Rate == 0 {
		text += "at no rate that was tried"
	} else {
		text += "up to " + units.Number(f.Rate) + " requests/s"
	}
	if f.Generator {
		text += "; above that the generator was the limit: the target may be able to do more"
	}
	return text
}

func searchItems(f *load.Found) []document.Item {
	t := &document.Table{Columns: document.Columns("requests/s", "latency", "outcome")}
	t.Columns[2].Left = true
	for _, s := range f.Steps {
		t.Add(units.Number(s.Rate), units.Time(s.Latency), outcome(s))
	}
	return []document.Item{document.Say(FoundText(f)), t}
}

func pairVerdict(p *load.Pair) document.Cell {
	c := document.Cell{Text: p.Median.Verdict.String()}
	switch p.Median.Verdict {
	case stats.Less:
		c.Style = document.Good
	case stats.More:
		c.Style = document.Bad
	default:
		c.Style = document.Dim
	}
	return c
}
