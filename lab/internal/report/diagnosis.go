package report

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/diagnose"
	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// Diagnosis is what was seen of a program, what costs most first, and what could not be decided.
func Diagnosis(d *diagnose.Diagnosis) []document.Item {
	e := &d.Evidence
	items := []document.Item{document.Say(e.Workload), document.Note(strings.Join(lookedAt(e), ", "))}
	unused := slices.DeleteFunc(slices.Clone(e.Tools), func(t evidence.Tool) bool {
		return t.State != evidence.Missing && t.State != evidence.Failed
	})
	for _, j := range byReason(unused, func(t evidence.Tool) (why, name string) { return strings.TrimSuffix(t.State+": "+t.Note, ": "), t.Name }) {
		items = append(items, document.Say(j[1]+" "+j[0]))
	}
	t := &document.Table{Class: "findings", Columns: document.Columns("cost", "tool", "share", "top function or event", "rule")}
	t.Columns[0].Left, t.Columns[1].Left, t.Columns[3].Left, t.Columns[4].Left = false, true, true, true
	for i := range d.Findings {
		f := &d.Findings[i]
		row := document.Row{Cells: []document.Cell{{}, {Text: f.Tool}, {}, {Text: document.Clip(f.Top, 52), About: f.Top}, {Text: f.Rule, Style: document.Bold}}}
		if f.Rule != "" {
			row.Cells[0].Text = units.Percent(f.Score)
		}
		if f.Share > 0 {
			row.Cells[2].Text = units.Percent(f.Share)
		}
		if row.Under = append(row.Under, f.Clue); f.Try != "" {
			row.Under = append(row.Under, "try: "+f.Try)
		}
		t.Rows = append(t.Rows, row)
	}
	items = append(items, t, document.Note("Cost is the part of the time that mending is thought to give back at most. Lines without one say only what a tool saw most of."))
	for _, tool := range e.Tools {
		if tool.State == evidence.OK && tool.Note != "" {
			items = append(items, document.Note(tool.Name+": "+tool.Note))
		}
	}
	for _, j := range byReason(d.Open, func(o diagnose.Open) (why, rule string) { return o.Why, o.Rule }) {
		items = append(items, &document.Para{Mark: "undecided", MarkStyle: document.Bold, Text: j[1] + ": " + j[0]})
	}
	mark, text := diagnosisVerdict(d)
	return append(items, &document.Para{Mark: mark, MarkStyle: document.Bold, Text: text})
}

func diagnosisVerdict(d *diagnose.Diagnosis) (mark, text string) {
	switch d.Verdict() {
	case diagnose.Found:
		f, _ := diagnose.First(d.Findings)
		return "first: " + f.Rule, fmt.Sprintf("in %s, which may cost %s of the time", f.Top, units.Percent(f.Score))
	case diagnose.Undecided:
		return "undecided", fmt.Sprintf("no fault was found, but %s could not be decided", units.Plural(len(d.Open), "rule"))
	}
	return "", fmt.Sprintf("all rules were decided, and none sees a cost of %s or more", units.Percent(diagnose.Significant))
}

func lookedAt(e *evidence.Evidence) []string {
	var words []string
	if e.Go != "" {
		words = append(words, "built with "+e.Go)
	}
	if e.Took <= 0 {
		return words
	}
	words = append(words, "looked at for "+units.Time(e.Took))
	if e.Saw(evidence.ToolProc) {
		busy := fmt.Sprintf("%.2f processors busy", e.CPUTime.Seconds()/e.Took.Seconds())
		if queued := e.Queued.Seconds() / e.Took.Seconds(); queued > 0.1 {
			busy += fmt.Sprintf(" and %.2f waited for", queued)
		}
		words = append(words, busy)
	}
	return words
}

// byReason joins the names of what has one reason.
func byReason[T any](list []T, split func(T) (why, name string)) (joined [][2]string) {
	for _, x := range list {
		why, name := split(x)
		if at := slices.IndexFunc(joined, func(j [2]string) bool { return j[0] == why }); at >= 0 {
			joined[at][1] += ", " + name
			continue
		}
		joined = append(joined, [2]string{why, name})
	}
	return joined
}

// flames are the flame graphs: what costs time and what allocates openly, the
// rest folded.
func flames(e *evidence.Evidence, id string) []document.Item {
	var open []document.Item
	for _, p := range []struct {
		name, title string
		profile     *evidence.Profile
		open        bool
	}{
		{"cpu", "CPU time", e.CPU, true},
		{"space", "bytes allocated", e.Space, true},
		{"perf", "perf: samples with the kernel's frames", e.Perf, false},
		{"block", "time spent waiting", e.Block, false},
		{"mutex", "time that others waited for a lock", e.Mutex, false},
	} {
		if p.profile == nil {
			continue
		}
		label := func(v float64) string { return units.Figure(v, p.profile.Unit) }
		flame := document.NewFlame(id+"-"+p.name, p.title, label, stacks(p.profile))
		switch {
		case flame == nil:
		case p.open:
			open = append(open, flame)
		default:
			open = append(open, &document.Fold{Title: p.title + ": " + flame.Total, Items: []document.Item{flame}})
		}
	}
	return open
}

func stacks(p *evidence.Profile) iter.Seq2[float64, []string] {
	return func(yield func(float64, []string) bool) {
		var names []string
		for _, s := range p.Stacks {
			names = names[:0]
			for _, f := range slices.Backward(s.Frames) {
				names = append(names, f.Func)
			}
			if !yield(float64(s.Value), names) {
				return
			}
		}
	}
}
