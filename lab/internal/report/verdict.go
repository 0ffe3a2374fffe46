package report

import (
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/measure"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// Tally counts targets by status.
func Tally(summaries []Summary) map[Status]int {
	count := map[Status]int{}
	for _, s := range summaries {
		for _, t := range s.Targets {
			count[t.Status]++
		}
	}
	return count
}

// Holds reports whether no target was missed, or left without a figure.
func Holds(summaries []Summary) bool {
	for _, s := range summaries {
		for _, t := range s.Targets {
			if t.Status == Missed || t.Why == NoFigure {
				return false
			}
		}
	}
	return true
}

func tallyText(summaries []Summary) string {
	count := Tally(summaries)
	return fmt.Sprintf("%d met, %d missed, %d undecided", count[Met], count[Missed], count[Undecided])
}

// Verdicts has a line for each scenario that was run: what was measured against what, the ratio with
// its interval, and the verdict.
func Verdicts(f *File) *document.Table {
	t := &document.Table{Class: "scenarios", Columns: document.Columns("scenario", "what", "against", "ratio", "95 %", "verdict")}
	for _, i := range []int{1, 2, 5} {
		t.Columns[i].Left = true
	}
	for i := range f.Scenarios {
		o := &f.Scenarios[i]
		if s := Summarize(o); o.State != measure.Skipped {
			t.Rows = append(t.Rows, verdictRow(o, &s))
		}
	}
	return t
}

// verdictRow is the line of one scenario: that of its first target which is missed, or
// else undecided, or else of its first; without targets that of its last variant.
func verdictRow(o *measure.Outcome, s *Summary) document.Row {
	row := document.Row{Cells: []document.Cell{{Text: o.Name, About: o.Title}, {}, {}, {}, {}, {Text: string(o.State), Style: document.Dim}}}
	if !o.Measured() {
		row.Cells[5] = document.Cell{Text: string(o.State), Style: document.Bad, About: o.Reason}
		return row
	}
	if t := firstTarget(s); t != nil {
		row.Cells[1].Text, row.Cells[2].Text = t.Variant, t.Against
		if t.Against == "" {
			row.Cells[2].Text = asked(o, t)
		}
		if t.Value != nil {
			row.Cells[3].Text, row.Cells[4].Text = valueText(*t, t.Value.Median), valueText(*t, t.Value.Lo)+" .. "+valueText(*t, t.Value.Hi)
		}
		row.Cells[5] = targetsCell(s, t)
		return row
	}
	for i := len(s.Rows) - 1; i >= 0; i-- {
		if r := &s.Rows[i]; r.Ratio != nil {
			row.Cells[1].Text, row.Cells[2].Text = r.Variant, s.Baseline
			row.Cells[3].Text, row.Cells[4] = units.Ratio(r.Ratio.Median), rangeCell(r.Ratio)
			row.Cells[5] = document.Cell{Text: r.Verdict, Style: document.Dim}
			return row
		}
	}
	row.Cells[5].Text = "no ratio"
	return row
}

// asked is the bound of a target with its side: "≤ 0 B", "≥ 2".
func asked(o *measure.Outcome, t *TargetResult) string {
	bound, below := bound(t.Target)
	text := units.Ratio(bound)
	if t.Against == "" {
		if text = units.Figure(bound, figureOf(o, t)); text == units.Number(bound) {
			text += " " + metricLabel(figureOf(o, t), o.Op)
		}
	}
	if below {
		return "≤ " + text
	}
	return "≥ " + text
}

func figureOf(o *measure.Outcome, t *TargetResult) string {
	if t.Metric != "" {
		return t.Metric
	}
	return o.Metric
}

func firstTarget(s *Summary) *TargetResult {
	for _, status := range []Status{Missed, Undecided, Met} {
		for i := range s.Targets {
			if s.Targets[i].Status == status {
				return &s.Targets[i]
			}
		}
	}
	return nil
}

// targetsCell is the verdict on a scenario: the worst of its targets', and how many there
// are of it.
func targetsCell(s *Summary, worst *TargetResult) document.Cell {
	n := Tally([]Summary{*s})[worst.Status]
	c := document.Cell{Text: string(worst.Status), Style: document.Good, About: whyTexts[worst.Why]}
	if len(s.Targets) > 1 {
		c.Text += fmt.Sprintf(" (%d of %d)", n, len(s.Targets))
	}
	switch worst.Status {
	case Missed:
		c.Style = document.Bad
	case Undecided:
		c.Style = document.Dim
	}
	return c
}
