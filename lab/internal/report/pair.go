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
		ratio := document.Cell{Text: units.Ratio(c.Median), Bar: &document.Bar{Median: c.Median, Lo: c.Lo, Hi: c.Hi}}
		t.Rows = append(t.Rows, document.Row{Cells: []document.Cell{{Text: name}, ratio, {Text: units.Ratio(c.Lo) + " .. " + units.Ratio(c.Hi)}, verdict}})
	}
	row("P50", &p.Median, pairVerdict(p))
	row("P99", p.Tail, document.Cell{Text: "not judged", Style: document.Dim})
	row("requests/s", p.Requests, document.Cell{Text: "not judged", Style: document.Dim})
	return []document.Item{
		document.Say(fmt.Sprintf("%s to %s, %s; %d left out, in which the generator was the limit", p.Targets[1], p.Targets[0], units.Plural(p.Rounds, "round"), p.Invalid)), t,
	}
}

// pairVerdict is what the medians came to.
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
