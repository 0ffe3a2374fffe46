package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/measure"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// width is what a table tries to stay within, in columns of a terminal.
const width = 100

// A Table prints results for a terminal or a pipe. Errors of the writer are
// kept and returned by Err.
type Table struct {
	w     io.Writer
	paint paint
	err   error
}

// NewTable returns a table that writes to w, with colours only if asked for.
func NewTable(w io.Writer, colour bool) *Table {
	return &Table{w: w, paint: paint(colour)}
}

// Err returns the first error of the writer.
func (t *Table) Err() error { return t.err }

// Head prints the machine and how the rest is to be read.
func (t *Table) Head(m machine.Machine) {
	lines := m.Lines()
	t.line(lines[0])
	t.line(lines[1])
	t.line(t.paint.dim("medians; ratios to the baseline (*) within rounds, with their 95 % interval; ~ is no difference"))
}

// Scenario prints one scenario. It is called when the scenario is finished, so
// that a reader need not wait for the others.
func (t *Table) Scenario(o *measure.Outcome) {
	s := Summarize(o)
	t.line("")
	t.wrapped(o.Name+"  ", o.Title, styleBold, stylePlain)
	if !o.Measured() {
		mark := styleBad
		if o.State == measure.Skipped {
			mark = styleDim
		}
		t.wrapped("  "+strings.ToUpper(string(o.State))+"  ", o.Reason, mark, stylePlain)
		return
	}
	grid := t.grid(o, &s)
	for _, line := range grid.lines(t.paint) {
		t.line(line)
	}
	for _, r := range s.Rows {
		if r.Skipped != "" {
			t.line(t.paint.dim("  " + r.Variant + " is not here: " + r.Skipped))
		}
	}
	t.targets(&s)
	if c := newCurve(o); c != nil {
		for _, line := range c.lines() {
			t.line("  " + line)
		}
	}
	t.wrapped("  ", note(o, &s), stylePlain, styleDim)
}

// targets prints those that have no place in the grid: what was met in as few
// lines as it takes, the others one by one.
func (t *Table) targets(s *Summary) {
	var met []string
	for _, target := range s.Targets {
		if inColumn(s, target) && target.Value != nil {
			continue
		}
		if target.Status == Met {
			met = append(met, target.Promise()+" ("+valueText(target)+")")
			continue
		}
		t.line("  " + target.Promise() + "   " + t.verdict(target))
	}
	if len(met) > 0 {
		t.wrapped("  ok  ", strings.Join(met, "; "), styleGood, stylePlain)
	}
}

// Foot prints what became of the whole run.
func (t *Table) Foot(f *File) {
	summaries := f.Summaries()
	t.line("")
	for _, s := range summaries {
		if s.State == measure.Invalid || s.State == measure.Failed {
			t.wrapped("  "+strings.ToUpper(string(s.State))+"  ", s.Scenario+": "+s.Reason, styleBad, stylePlain)
		}
	}
	if len(Tally(summaries)) > 0 {
		line := "targets: " + tallyText(summaries)
		if f.Mode != "full" {
			line += "; an impression, bench --full decides"
		}
		t.line(line)
	}
	measured := 0
	for i := range f.Scenarios {
		if f.Scenarios[i].Measured() {
			measured++
		}
	}
	line := fmt.Sprintf("%d of %s in %s, seed %d", measured, units.Plural(len(f.Scenarios), "scenario"), units.Span(time.Duration(f.Seconds*float64(time.Second))), f.Seed)
	if f.Interrupted {
		line += "; interrupted, only whole rounds are kept"
	}
	if f.Profiled {
		line += "; a profiler ran beside"
	}
	t.line(line)
}

// grid lays the rows out. Beside the compared figure stand allocations and
// collections, then the runner's own figures as far as they fit.
func (t *Table) grid(o *measure.Outcome, s *Summary) *grid {
	g := &grid{}
	g.head(true, "variant")
	g.head(false, metricLabel(o.Metric, o.Op), "ratio", "95 % interval")
	var columns []string
	for _, metric := range []string{lab.AllocsPerOp, lab.GCRuns} {
		if metric != o.Metric {
			columns = append(columns, metric)
		}
	}
	columns = append(columns, ownMetrics(s, o.Metric)...)
	hasTarget := slices.ContainsFunc(s.Targets, func(r TargetResult) bool { return inColumn(s, r) && r.Value != nil })
	room := width - 68
	for i, metric := range columns {
		label := columnLabel(metric)
		if i >= 2 && room < len(label)+2 {
			columns = columns[:i]
			break
		}
		room -= max(len(label), 6) + 2
		g.head(false, label)
	}
	if hasTarget {
		g.head(true, "target")
	}
	for _, r := range s.Rows {
		if r.Skipped != "" {
			continue
		}
		name := r.Variant
		if r.Variant == s.Baseline {
			name += " *"
		}
		cells := []cell{{text: name}, {text: "-"}, {}, {}}
		if r.Figure != nil {
			cells[1].text = units.Figure(r.Figure.Median, o.Metric)
		}
		switch {
		case r.Variant == s.Baseline:
			cells[2] = cell{text: "1", style: styleDim}
		case r.Ratio != nil:
			cells[2] = ratioCell(r)
			cells[3].text = units.Ratio(r.Ratio.Lo) + " .. " + units.Ratio(r.Ratio.Hi)
		}
		for _, metric := range columns {
			c := cell{text: "-"}
			if in, ok := r.Metrics[metric]; ok {
				c.text = units.Number(in.Median)
				if metric != lab.AllocsPerOp && metric != lab.GCRuns {
					c.text = units.Figure(in.Median, metric)
				}
			}
			cells = append(cells, c)
		}
		if hasTarget {
			cells = append(cells, targetCell(s, r.Variant))
		}
		g.rows = append(g.rows, cells)
	}
	return g
}

func ratioCell(r Row) cell {
	switch r.Verdict {
	case "less":
		return cell{text: units.Ratio(r.Ratio.Median), style: styleGood}
	case "more":
		return cell{text: units.Ratio(r.Ratio.Median), style: styleBad}
	}
	return cell{text: "~", style: styleDim}
}

// inColumn tells which targets stand in the row of their variant: those about
// the ratio that the row shows. The others get a line of their own.
func inColumn(s *Summary, t TargetResult) bool {
	return t.Against == s.Baseline && (t.Metric == "" || t.Metric == s.Metric)
}

func targetCell(s *Summary, variant string) cell {
	for _, t := range s.Targets {
		if t.Variant != variant || !inColumn(s, t) || t.Value == nil {
			continue
		}
		limit, below := bound(t.Target)
		text := "<= " + units.Ratio(limit)
		if !below {
			text = ">= " + units.Ratio(limit)
		}
		if t.Upper {
			text = "upper " + text
		}
		if t.Status == Met {
			return cell{text: text + " ok", style: styleGood}
		}
		// The row may show ~ where the median misses.
		return cell{text: fmt.Sprintf("%s MISSED: %s", text, units.Ratio(held(t))), style: styleBad}
	}
	return cell{}
}

// held is the end of the interval that a target is about.
func held(t TargetResult) float64 {
	if t.Upper {
		return t.Value.Hi
	}
	return t.Value.Median
}

func (t *Table) verdict(r TargetResult) string {
	if r.Status == Missed {
		return t.paint.bad("MISSED: " + valueText(r))
	}
	return t.paint.dim(string(r.Status))
}

// valueText writes what a target was held against.
func valueText(r TargetResult) string {
	if r.Against != "" {
		return units.Ratio(held(r))
	}
	return units.Figure(held(r), r.Metric)
}

// ownMetrics are those that only runners report, in order of name.
func ownMetrics(s *Summary, compared string) []string {
	common := []string{compared, lab.NsPerOp, lab.CPUPerOp, lab.AllocsPerOp, lab.BytesPerOp, lab.GCRuns, measure.MBPerS}
	var names []string
	for _, r := range s.Rows {
		for metric := range r.Metrics {
			if !slices.Contains(common, metric) && !slices.Contains(names, metric) {
				names = append(names, metric)
			}
		}
	}
	slices.Sort(names)
	return names
}

func columnLabel(metric string) string {
	switch metric {
	case lab.AllocsPerOp:
		return "allocs"
	case lab.GCRuns:
		return "GCs"
	}
	return metric
}

func (t *Table) line(s string) {
	if t.err == nil {
		_, t.err = io.WriteString(t.w, strings.TrimRight(s, " ")+"\n")
	}
}

// wrapped prints a text of any length behind a mark, with later lines indented
// as far, each in its style.
func (t *Table) wrapped(mark, text string, ofMark, ofText style) {
	indent := utf8.RuneCountInString(mark)
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && indent+utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			t.line(t.paint.style(mark, ofMark) + t.paint.style(line, ofText))
			mark, line = strings.Repeat(" ", indent), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	t.line(t.paint.style(mark, ofMark) + t.paint.style(line, ofText))
}
