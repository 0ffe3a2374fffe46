package report

import (
	"bytes"
	"encoding/json"
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

const (
	// mostRaw is how many bytes of raw results a page carries.
	mostRaw    = 24 << 20
	dateFormat = "2 January 2006, 15:04:05 MST"
)

// WriteHTML writes the page of one run of bench.
func (f *File) WriteHTML(w io.Writer) error {
	var raw bytes.Buffer
	if err := f.Save(&raw); err != nil {
		return err
	}
	return WriteReport(w, []*Result{{Name: "bench", Kind: KindBench, Bench: f, raw: raw.Bytes()}})
}

// WriteReport writes one page of any results, in their order, that opens without
// a network. Results of the same kind are also set side by side: the first
// against each other one.
func WriteReport(w io.Writer, results []*Result) error {
	if len(results) == 0 {
		return errors.New("report: no results to make a page of")
	}
	p := document.Page{Program: "lab report", Title: units.Plural(len(results), "result"), Head: inputs(results), Raw: rawResults(results)}
	p.Sections = append(p.Sections, beside(results)...)
	for i, r := range results {
		section := &document.Section{ID: fmt.Sprintf("r%d", i+1), Title: r.Kind + ": " + r.Name, Level: 2}
		if len(results) == 1 {
			p.Title = section.Title
		}
		o := r.origin()
		from := strings.Join(o.command, " ")
		if o.version != "" {
			from += "; version " + o.version
		}
		section.Add(document.Note(from))
		if o.interrupted {
			section.Add(document.Fault("interrupted", "what there is until then"))
		}
		switch {
		case r.Bench != nil:
			benchSection(section, r.Bench)
		case r.Load != nil:
			loadSection(section, r.Load)
		case r.Matrix != nil:
			matrixSection(section, r.Matrix)
		default:
			diagnosisSection(section, r.Diagnosis)
		}
		p.Sections = append(p.Sections, section)
	}
	p.Sections = append(p.Sections, machines(results))
	return p.Write(w)
}

// inputs lists the results.
func inputs(results []*Result) []document.Item {
	t := &document.Table{Columns: document.Columns("result", "of", "what", "when")}
	for i := range t.Columns {
		t.Columns[i].Left = true
	}
	for _, r := range results {
		about := ""
		switch {
		case r.Bench != nil:
			about = fmt.Sprintf("%s, %s", units.Plural(len(r.Bench.Scenarios), "scenario"), r.Bench.Mode)
		case r.Load != nil:
			about = fmt.Sprintf("%s over %s, %s", sizesText(r.Load.Plan.Sizes), units.Plural(r.Load.Plan.Conns, "connection"), rateText(&r.Load.Plan))
			if !r.Load.Valid {
				about += ", INVALID"
			}
		case r.Matrix != nil:
			about = r.Matrix.Title
		default:
			about = r.Diagnosis.Evidence.Workload
		}
		when := ""
		if o := r.origin(); !o.started.IsZero() {
			when = o.started.Format(dateFormat)
		}
		t.Add(r.Name, r.Kind, document.Clip(about, 100), when)
	}
	return []document.Item{t}
}

// machines has a column for each machine that results come from.
func machines(results []*Result) *document.Section {
	var list []machine.Machine
	for _, r := range results {
		m := r.Machine()
		if !slices.ContainsFunc(list, func(o machine.Machine) bool {
			return len(machine.Differences(o, m)) == 0 && len(o.Facts()) >= len(m.Facts())
		}) {
			list = append(list, m)
		}
	}
	section := &document.Section{ID: "machine", Title: "Machine", Level: 2}
	heads := []string{""}
	var names []string
	values := map[string][]string{}
	for i, m := range list {
		heads = append(heads, fmt.Sprintf("machine %d", i+1))
		for _, f := range m.Facts() {
			if values[f.Name] == nil {
				names, values[f.Name] = append(names, f.Name), make([]string, len(list))
			}
			values[f.Name][i] = f.Value
		}
	}
	if len(list) == 1 {
		facts := &document.Facts{}
		for _, name := range names {
			facts.Add(name, values[name][0])
		}
		return section.Add(&document.Fold{Title: strings.Join(linesOf(list[0]), "; "), Items: []document.Item{facts}})
	}
	section.Title = "Machines"
	section.Add(document.Fault("The results come from different machines", "or settings: figures of one say nothing about the other."))
	t := &document.Table{Class: "facts", Columns: document.Columns(heads...)}
	for _, name := range names {
		row := document.Texts(append([]string{name}, values[name]...)...)
		if slices.ContainsFunc(values[name], func(v string) bool { return v != values[name][0] }) {
			for i := range row.Cells {
				row.Cells[i].Style = document.Bad
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return section.Add(t)
}

func linesOf(m machine.Machine) []string {
	lines := m.Lines()
	return lines[:]
}

// beside sets the first of each kind against the others, and all loads into one
// picture.
func beside(results []*Result) []*document.Section {
	var list []*document.Section
	firsts := map[string]*Result{}
	var loads []*load.Result
	var names []string
	for _, r := range results {
		if r.Load != nil {
			loads, names = append(loads, r.Load), append(names, r.Name)
		}
		// An invalid load is compared with nothing, so that it is not the first.
		old := firsts[r.Kind]
		if old == nil || old.Load != nil && !old.Load.Valid {
			firsts[r.Kind] = r
			continue
		}
		if r.Kind == KindDiagnosis {
			continue
		}
		section := &document.Section{ID: fmt.Sprintf("beside%d", len(list)+1), Title: old.Name + " beside " + r.Name, Level: 2}
		if c, err := Compare(old, r, Options{Force: true}); err != nil {
			section.Add(document.Fault("", strings.TrimPrefix(err.Error(), "report: ")))
		} else {
			section.Add(c.Items()...)
		}
		list = append(list, section)
	}
	if len(loads) > 1 {
		list = append(list, &document.Section{ID: "loads", Title: "Loads side by side", Level: 2, Items: append([]document.Item{loadsTable(loads, names)}, loadCharts(loads, names)...)})
	}
	return list
}

// loadsTable has a column for each run.
func loadsTable(loads []*load.Result, names []string) *document.Table {
	t := &document.Table{Columns: document.Columns(append([]string{""}, names...)...)}
	for _, row := range []struct {
		name string
		text func(r *load.Result) string
	}{
		{"throughput", func(r *load.Result) string { return units.Rate(r.Throughput) }},
		{"requests", func(r *load.Result) string { return units.Number(r.IOPS) + "/s" }},
		{"P50", func(r *load.Result) string { return units.Time(r.Latency.P50) }},
		{"P99", func(r *load.Result) string { return units.Time(r.Latency.P99) }},
		{"P99.9", func(r *load.Result) string { return units.Time(r.Latency.P999) }},
		{"max", func(r *load.Result) string { return units.Time(r.Latency.Max) }},
		{"CPU/request of the generator", func(r *load.Result) string { return units.Nanoseconds(r.Generator.CPUPerOp) }},
	} {
		cells := []string{row.name}
		for _, r := range loads {
			text := "INVALID"
			if r.Valid && r.Latency != nil {
				text = row.text(r)
			}
			cells = append(cells, text)
		}
		t.Add(cells...)
	}
	return t
}

// rawResults is a list of all results as they were read, for programs that
// find the page and not the files.
func rawResults(results []*Result) []byte {
	type one struct {
		Name   string          `json:"name"`
		Result json.RawMessage `json:"result"`
	}
	var list []one
	size := 0
	for _, r := range results {
		if size += len(r.raw); size > mostRaw {
			return nil
		}
		list = append(list, one{r.Name, r.raw})
	}
	var b bytes.Buffer
	// Encode compacts what is raw, and escapes <, > and & in it too.
	if err := json.NewEncoder(&b).Encode(list); err != nil {
		return nil
	}
	return b.Bytes()
}
