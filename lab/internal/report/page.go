package report

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/units"
)

const dateFormat = "2 January 2006, 15:04:05 MST"

// WriteHTML writes the page of one run of bench.
func (f *File) WriteHTML(w io.Writer) error {
	return WriteReport(w, []*Result{{Name: "bench", Kind: KindBench, Bench: f}}, nil)
}

// WriteReport writes one page of any results, in their order, that opens without
// a network, with how they compare, unless that is nil. Of files with figures that no run can
// have the error may be an ErrSchema.
func WriteReport(w io.Writer, results []*Result, compared *Comparison) error {
	return guarded(func() error { return writeReport(w, results, compared) })
}

func writeReport(w io.Writer, results []*Result, compared *Comparison) error {
	if len(results) == 0 {
		return errors.New("report: no results to make a page of")
	}
	verdicts := &document.Table{Class: "verdicts", Columns: document.Columns("result", "verdict", "of what")}
	verdicts.Columns[1].Left, verdicts.Columns[2].Left = true, true
	p := document.Page{Program: "lab report", Title: units.Plural(len(results), "result"), Head: []document.Item{verdicts}}
	if compared != nil {
		p.Sections = append(p.Sections, &document.Section{ID: "compared", Title: compared.New + " against " + compared.Old, Level: 2, Items: compared.Items()})
	}
	for i, r := range results {
		section := &document.Section{ID: fmt.Sprintf("r%d", i+1), Title: r.Kind + ": " + r.Name, Level: 2}
		if r.Name == r.Kind {
			section.Title = r.Name
		}
		if len(results) == 1 {
			p.Title = section.Title
		}
		o := r.Origin()
		from := strings.Join(o.Command, " ")
		if o.Version != "" {
			from += "; version " + o.Version
		}
		if !o.Started.IsZero() {
			from += "; " + o.Started.Format(dateFormat)
		}
		section.Add(document.Note(from))
		if o.Interrupted {
			section.Add(document.Fault("interrupted", "what there is until then"))
		}
		verdict, about := r.show(section)
		verdict.Text = document.Clip(verdict.Text, 120)
		verdicts.Rows = append(verdicts.Rows, document.Row{Cells: []document.Cell{{Text: document.Clip(r.Name, 60)}, verdict, {Text: document.Clip(about, 100)}}})
		p.Sections = append(p.Sections, section)
	}
	p.Sections = append(p.Sections, machines(results))
	return p.Write(w)
}

func (r *Result) show(section *document.Section) (verdict document.Cell, about string) {
	switch {
	case r.Bench != nil:
		benchSection(section, r.Bench)
		summaries := r.Bench.Summaries()
		verdict.Text = tallyText(summaries)
		if !Holds(summaries) {
			verdict.Style = document.Bad
		}
		about = units.Plural(len(r.Bench.Scenarios), "scenario") + ", " + r.Bench.Mode
	case r.Load != nil:
		loadSection(section, r.Load)
		if !r.Load.Valid {
			verdict = document.Cell{Text: "INVALID: " + load.Texts(r.Load.Reasons), Style: document.Bad}
		} else if verdict.Text = units.Number(r.Load.IOPS) + " requests/s"; r.Load.Latency != nil {
			verdict.Text += ", P99 " + units.Time(r.Load.Latency.P99)
		}
		about = planText(&r.Load.Plan)
	case r.Matrix != nil:
		matrixSection(section, r.Matrix)
		verdict.Text, about = units.Plural(len(r.Matrix.Cells), "cell"), r.Matrix.Title
		if n := len(r.Matrix.Knees); n > 0 {
			verdict.Text += ", " + units.Plural(n, "knee")
		}
	case r.Pair != nil:
		section.Add(Pair(r.Pair)...)
		verdict, about = pairVerdict(r.Pair), "load on two targets"
	case r.Search != nil:
		section.Add(searchItems(r.Search)...)
		verdict.Text, about = FoundText(r.Search), "the highest rate within a limit"
	default:
		section.Add(Diagnosis(r.Diagnosis)...).Add(flames(&r.Diagnosis.Evidence, section.ID)...)
		mark, text := diagnosisVerdict(r.Diagnosis)
		if verdict.Text = text; mark != "" {
			verdict = document.Cell{Text: mark, Style: document.Bold}
		}
		about = r.Diagnosis.Evidence.Workload
	}
	return verdict, about
}

func machines(results []*Result) *document.Section {
	section := &document.Section{ID: "machine", Title: "Machine", Level: 2}
	var list []machine.Machine
	for _, r := range results {
		m := r.Origin().Machine
		if !slices.ContainsFunc(list, func(o machine.Machine) bool { return len(machine.Differences(o, m)) == 0 }) {
			list = append(list, m)
		}
	}
	if len(list) > 1 {
		section.Add(document.Fault("The results come from different machines", "or settings: figures of one say nothing about the other."))
	}
	for _, m := range list {
		facts := &document.Facts{}
		for _, f := range m.Facts() {
			facts.Add(f.Name, f.Value)
		}
		lines := m.Lines()
		section.Add(&document.Fold{Title: strings.Join(lines[:], "; "), Items: []document.Item{facts}})
	}
	return section
}
