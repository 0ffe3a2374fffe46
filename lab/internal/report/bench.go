package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/measure"
	"github.com/sluice-go/sluice/lab/internal/stats"
	"github.com/sluice-go/sluice/lab/internal/units"
)

const howToRead = "All variants of a scenario do the same work on the same bytes, in turn, round by round. Figures are medians; a ratio is taken " +
	"within rounds to the baseline (*), with the interval that covers its true median with 95 % probability. Less is better unless a figure is per second; ~ is no difference that these rounds could show. Nothing is judged with fewer than six rounds."

// BenchHead says on which machine the scenarios ran and how to read the rest.
func BenchHead(m machine.Machine) []document.Item {
	lines := m.Lines()
	return []document.Item{document.Say(lines[0]), document.Say(lines[1]), document.Note(howToRead)}
}

// Scenario is all that is said of one scenario.
func Scenario(o *measure.Outcome) *document.Section {
	s := Summarize(o)
	section := &document.Section{Title: o.Name, Text: o.Title, Level: 3}
	if !o.Measured() {
		mark := document.Fault(strings.ToUpper(string(o.State)), o.Reason)
		if o.State == measure.Skipped {
			mark.MarkStyle = document.Dim
		}
		return section.Add(mark)
	}
	section.Add(scenarioTable(o, &s))
	variants := &document.Table{Columns: []document.Column{{Name: "variant", Left: true}, {Name: "what it is", Left: true}}}
	for _, r := range s.Rows {
		if r.Skipped != "" {
			section.Add(document.Note(r.Variant + " is not here: " + r.Skipped))
		}
		variants.Add(r.Variant, r.about)
	}
	for _, t := range s.Targets {
		section.Add(targetLine(t))
	}
	return section.Add(document.Note(note(o, &s)), &document.Fold{Title: "What the variants are", Items: []document.Item{variants}})
}

func targetLine(t TargetResult) *document.Para {
	switch t.Status {
	case Met:
		return &document.Para{Mark: "met", MarkStyle: document.Good, Text: t.Promise() + " (" + valueText(t, t.Value.Median) + ")"}
	case Missed:
		return &document.Para{Mark: "MISSED: " + valueText(t, t.Value.Median), MarkStyle: document.Bad, Text: t.Promise()}
	}
	return &document.Para{Mark: "undecided", MarkStyle: document.Dim, Text: t.Promise() + ": " + whyTexts[t.Why]}
}

// scenarioTable has a row for each variant. Beside the compared figure stand
// allocations and collections, then what only the runner knows, then the rest.
func scenarioTable(o *measure.Outcome, s *Summary) *document.Table {
	t := &document.Table{Class: "variants", Columns: document.Columns("variant", metricLabel(o.Metric, o.Op), "ratio", "95 %")}
	var metrics []string
	for _, r := range s.Rows {
		metrics = slices.AppendSeq(metrics, maps.Keys(r.Metrics))
	}
	ordered(metrics, []string{lab.AllocsPerOp, lab.GCRuns}, []string{lab.NsPerOp, lab.CPUPerOp, measure.MBPerS, lab.BytesPerOp})
	metrics = slices.DeleteFunc(slices.Compact(metrics), func(metric string) bool { return metric == o.Metric })
	for _, metric := range metrics {
		t.Columns = append(t.Columns, document.Column{Name: metricLabel(metric, o.Op)})
	}
	for _, r := range s.Rows {
		if r.Skipped != "" {
			continue
		}
		row := document.Row{Base: r.Variant == s.Baseline, Cells: []document.Cell{{Text: r.Variant, About: r.about}, {Text: "-"}, {}, {}}}
		if r.Figure != nil {
			row.Cells[1] = document.Cell{Text: units.Figure(r.Figure.Median, o.Metric), About: units.Figure(r.Figure.Lo, o.Metric) + " .. " + units.Figure(r.Figure.Hi, o.Metric)}
		}
		switch {
		case row.Base:
			row.Cells[0].Text += " *"
			row.Cells[2] = document.Cell{Text: "1", Style: document.Dim}
		case r.Ratio != nil:
			row.Cells[2], row.Cells[3] = ratioCell(r), rangeCell(r.Ratio)
		}
		for _, metric := range metrics {
			c := document.Cell{Text: "-"}
			if in, ok := r.Metrics[metric]; ok {
				c.Text = units.Figure(in.Median, metric)
			}
			row.Cells = append(row.Cells, c)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// BenchFoot says what became of a whole run.
func BenchFoot(f *File) []document.Item {
	summaries := f.Summaries()
	items := []document.Item{document.Say("")}
	items = append(items, faults(summaries)...)
	if len(Tally(summaries)) > 0 {
		items = append(items, document.Say("targets: "+tallyText(summaries)))
	}
	items = append(items, others(f)...)
	return append(items, document.Say(runText(f)))
}

// mostOthers is the part of the machine's processors from which on others are worth a word.
const mostOthers = 0.25

// others says that others used the machine meanwhile, if they did.
func others(f *File) []document.Item {
	if f.Others < mostOthers*float64(f.Processors) || f.Processors == 0 {
		return nil
	}
	return []document.Item{document.Say(fmt.Sprintf(
		"other programs used %.1f of %d processors meanwhile: figures spread more, and more targets stay undecided, than on a quiet machine", f.Others, f.Processors))}
}

func faults(summaries []Summary) []document.Item {
	var items []document.Item
	for _, s := range summaries {
		if s.State == measure.Invalid || s.State == measure.Failed {
			items = append(items, document.Fault(strings.ToUpper(string(s.State)), s.Scenario+": "+s.Reason))
		}
	}
	return items
}

func runText(f *File) string {
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
	return line
}

// benchSection is the part of a page on one run: a line for each scenario first, then all
// of each.
func benchSection(section *document.Section, f *File) *document.Section {
	summaries := f.Summaries()
	section.Add(document.Say("Targets: "+tallyText(summaries)+"."), Verdicts(f))
	section.Add(others(f)...)
	section.Add(document.Note(f.Mode+"; "+runText(f)), document.Note(howToRead))
	section.Add(faults(summaries)...)
	details := &document.Fold{Title: "Every scenario"}
	for i := range f.Scenarios {
		details.Items = append(details.Items, Scenario(&f.Scenarios[i]))
	}
	return section.Add(details)
}

func barCell(in *stats.Interval) document.Cell {
	return document.Cell{Text: units.Ratio(in.Median), Bar: &document.Bar{Median: in.Median, Lo: in.Lo, Hi: in.Hi}}
}

func rangeCell(in *stats.Interval) document.Cell {
	return document.Cell{Text: units.Ratio(in.Lo) + " .. " + units.Ratio(in.Hi)}
}

func ratioCell(r Row) document.Cell {
	c := barCell(r.Ratio)
	c.Style = styleOf(r.Verdict)
	switch r.Verdict {
	case stats.Same:
		c.Text, c.About = string(r.Verdict), c.Text
	case stats.Undecided:
		c.About = string(r.Verdict)
	}
	return c
}

// verdicts are how those of rounds, of targets and of comparisons look; less of a figure is better.
var verdicts = map[string]document.Style{
	string(stats.Less): document.Good, string(stats.More): document.Bad, string(stats.Same): document.Dim, string(stats.Undecided): document.Dim,
	string(Met): document.Good, string(Missed): document.Bad,
	string(Better): document.Good, string(Worse): document.Bad,
}

func styleOf[T ~string](verdict T) document.Style { return verdicts[string(verdict)] }

func valueText(t TargetResult, v float64) string {
	if t.Against != "" {
		return units.Ratio(v)
	}
	return units.Figure(v, t.Metric)
}

func ordered(metrics, first, last []string) {
	rank := func(name string) int {
		if i := slices.Index(first, name); i >= 0 {
			return i - len(first)
		}
		return slices.Index(last, name) + 1
	}
	slices.SortFunc(metrics, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b)) })
}

func metricLabel(metric, op string) string {
	op = cmp.Or(op, "op")
	switch metric {
	case lab.NsPerOp:
		return "time/" + op
	case lab.CPUPerOp:
		return "CPU/" + op
	case lab.GCRuns:
		return "GCs"
	}
	if what, per, ok := strings.Cut(metric, "/"); ok && per == "op" {
		return what + "/" + op
	}
	return metric
}
