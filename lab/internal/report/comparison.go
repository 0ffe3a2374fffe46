package report

import (
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/stats"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// Items is the comparison for people: what is judged, and of what is counted only
// that which changed.
func (c *Comparison) Items() []document.Item {
	items := []document.Item{
		document.Say(fmt.Sprintf("old %s, new %s: ratios are new to old", c.Old, c.New)),
		document.Note(fmt.Sprintf("~ is no difference beyond noise; at least %.3g %%, and surer the more figures there are", c.AtLeast*100)),
	}
	for _, d := range c.Doubts {
		items = append(items, document.Fault("COMPARED ALL THE SAME", d))
	}
	t := &document.Table{Class: "compare", Columns: document.Columns("what", "figure", "old", "new", "ratio", "95 %", "verdict")}
	t.Columns[1].Left, t.Columns[6].Left = true, true
	hidden := 0
	for i := range c.Changes {
		ch := &c.Changes[i]
		if ch.Family == Counted && (ch.Verdict == Same || ch.Old == ch.New) || len(t.Rows) >= mostBeside {
			hidden++
			continue
		}
		t.Rows = append(t.Rows, ch.row())
	}
	items = append(items, t)
	if hidden > 0 {
		items = append(items, document.Note(units.Plural(hidden, "counted figure")+" without a difference not shown; --json has them"))
	}
	for _, n := range c.Notes {
		items = append(items, &document.Para{Mark: "note", MarkStyle: document.Dim, Text: n})
	}
	judged := fmt.Sprintf("%s judged: %d worse, %d better, %d ~", units.Plural(c.Judged, "figure"), c.Regressions, c.Better, c.Judged-c.Regressions-c.Better)
	if c.Undecided > 0 {
		judged += fmt.Sprintf("; %d undecided, with too few values", c.Undecided)
	}
	return append(items, document.Say(judged),
		&document.Fold{Title: "What counts as a difference", Items: []document.Item{document.Say(c.Rule)}})
}

const mostBeside = 2_000

func (ch *Change) row() document.Row {
	row := document.Row{Cells: []document.Cell{{Text: document.Clip(ch.Item, 48)}, {Text: document.Clip(ch.Figure, 32), About: ch.Note}, {Text: "–"}, {Text: "–"}, {Text: "–"}, {}, {Text: "not judged", Style: document.Dim}}}
	if ch.failed {
		row.Under = []string{ch.Note}
	} else {
		text := func(v float64) string {
			if ch.Unit == ratioUnit {
				return units.Ratio(v)
			}
			return units.Figure(v, ch.Unit)
		}
		row.Cells[2].Text, row.Cells[3].Text = text(ch.Old), text(ch.New)
		switch {
		case ch.whole && ch.Ratio != nil && ch.Old > 0:
			row.Cells[4].Text, row.Cells[5] = units.Ratio(ch.New/ch.Old), rangeCell(ch.Ratio)
			if ch.Verdict == Same && single(ch.Old, ch.New, ch.Least) != stats.Same {
				row.Under = []string{"the interval is that of windows: what differs is in few of them"}
			}
		case ch.Ratio != nil:
			row.Cells[4], row.Cells[5] = barCell(ch.Ratio), rangeCell(ch.Ratio)
		case ch.Old > 0:
			row.Cells[4].Text = units.Ratio(ch.New / ch.Old)
		case ch.New == 0:
			row.Cells[4].Text = "1"
		}
	}
	switch ch.Verdict {
	case Worse:
		row.Cells[6] = document.Cell{Text: "WORSE", Style: document.Bad}
	case Better:
		row.Cells[6] = document.Cell{Text: "better", Style: document.Good}
	case Same, Unsure:
		row.Cells[6].Text = string(ch.Verdict)
	}
	return row
}
