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
	text := fmt.Sprintf("%s to %s, %s", p.Targets[1], p.Targets[0], units.Plural(p.Rounds, "round"))
	if p.Invalid > 0 {
		text += fmt.Sprintf("; %d left out as invalid", p.Invalid)
	}
	return []document.Item{document.Say(text), t}
}

// Step says what came of one rate that a search tried.
func Step(s load.Step) document.Item {
	return &document.Para{Mark: fmt.Sprintf("%10s/s  %9s", units.Number(s.Rate), stepLatency(s)), Text: outcome(s)}
}

func stepLatency(s load.Step) string {
	if s.Latency == 0 { // the run was invalid
		return "–"
	}
	return units.Time(s.Latency)
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
	held := 0.0
	for _, s := range f.Steps {
		if s.Holds {
			held = max(held, s.Rate)
		}
	}
	switch {
	case f.Rate > 0:
		text += "up to " + units.Number(f.Rate) + " requests/s"
	case held > 0:
		text += "once at " + units.Number(held) + " requests/s; the search did not come to an end"
	default:
		text += "at no rate that was tried"
	}
	switch {
	case f.Generator && f.Rate == 0:
		text += "; the generator was the limit: something keeps the machine busy"
	case f.Generator:
		text += "; above that the generator was the limit: the target may be able to do more"
	}
	return text
}

func searchItems(f *load.Found) []document.Item {
	t := &document.Table{Columns: document.Columns("requests/s", "latency", "outcome")}
	t.Columns[2].Left = true
	for _, s := range f.Steps {
		t.Add(units.Number(s.Rate), stepLatency(s), outcome(s))
	}
	return []document.Item{document.Say(FoundText(f)), t}
}

func pairVerdict(p *load.Pair) document.Cell {
	c := document.Cell{Text: string(p.Median.Verdict)}
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
