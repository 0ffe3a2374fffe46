package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/units"
)

// WriteTable prints a comparison for a terminal or a pipe: what is judged, and
// of what is counted only that which changed.
func (c *Comparison) WriteTable(w io.Writer, colour bool) error {
	t := NewTable(w, colour)
	t.line(fmt.Sprintf("old %s, new %s: ratios are new to old", c.Old, c.New))
	t.line(t.paint.dim(fmt.Sprintf("~ is no difference beyond noise; at least %.3g %%, and surer the more figures there are", c.AtLeast*100)))
	for _, d := range c.Doubts {
		t.wrapped("  COMPARED ALL THE SAME  ", d, styleBad, stylePlain)
	}
	g := &grid{}
	g.head(true, "what", "figure")
	g.head(false, "old", "new", "ratio", "95 % interval")
	g.head(true, "verdict")
	hidden := 0
	for i := range c.Changes {
		ch := &c.Changes[i]
		if c.quiet(ch) {
			hidden++
			continue
		}
		verdict := cell{text: ch.Verdict}
		switch ch.Verdict {
		case "worse":
			verdict = cell{"WORSE", styleBad}
		case "better":
			verdict.style = styleGood
		case "~":
			verdict.style = styleDim
		default:
			verdict = cell{"not judged", styleDim}
		}
		g.rows = append(g.rows, []cell{
			{text: clipped(oneLine(ch.Item), 48)}, {text: clipped(oneLine(ch.Figure), 32)}, {text: ch.OldText()}, {text: ch.NewText()},
			{text: ch.RatioText()}, {text: ch.Interval()}, verdict,
		})
	}
	t.line("")
	for _, line := range g.lines(t.paint) {
		t.line(line)
	}
	t.line("")
	if hidden > 0 {
		t.line(t.paint.dim(fmt.Sprintf("%s without a difference not shown; --json has them", units.Plural(hidden, "counted figure"))))
	}
	for i := range c.Changes {
		if ch := &c.Changes[i]; ch.failed {
			t.wrapped("  "+oneLine(ch.Item)+" "+ch.Figure+"  ", ch.Note, styleBad, stylePlain)
		}
	}
	for _, n := range c.Notes {
		t.wrapped("  note  ", n, styleDim, stylePlain)
	}
	t.line(c.Verdicts())
	return t.Err()
}

// quiet tells what nobody needs to see: counts that are as they were.
func (c *Comparison) quiet(ch *Change) bool {
	return c.Of == KindBench && ch.Judged && ch.Metric != ratioMetric && ch.Verdict == "~"
}

// oneLine takes line ends out of a name from a file.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
