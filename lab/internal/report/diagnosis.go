package report

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose"
	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// mostLines is how many lines a table of evidence has.
const mostLines = 12

// install says how to get a tool that is missing.
var install = map[string]string{
	evidence.ToolStrace:     "on Debian and Ubuntu: apt-get install strace",
	evidence.ToolPerfStat:   "on Debian: apt-get install linux-perf",
	evidence.ToolPerfRecord: "on Debian: apt-get install linux-perf",
}

// Diagnosis is what was seen of a workload, what costs most first.
func Diagnosis(d *diagnose.Diagnosis) []document.Item {
	e := &d.Evidence
	items := []document.Item{document.Say(e.Workload), document.Note(strings.Join(lookedAt(e), ", "))}
	for _, tool := range e.Tools {
		if tool.State != evidence.OK {
			items = append(items, document.Say(notUsed(tool)))
		}
	}
	t := &document.Table{Columns: document.Columns("cost", "tool", "share", "top function or event", "rule")}
	t.Columns[0].Left, t.Columns[1].Left, t.Columns[3].Left, t.Columns[4].Left = false, true, true, true
	for i := range d.Findings {
		f := &d.Findings[i]
		row := document.Row{Cells: []document.Cell{{}, {Text: f.Tool}, {}, {Text: document.Clip(shortTop(f.Top), 52), About: f.Top}, {Text: f.Rule, Style: document.Bold}}}
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
	verdict := document.Say(fmt.Sprintf("nothing stands out: no rule sees a cost of %s or more", units.Percent(diagnose.Significant)))
	if f, ok := diagnose.First(d.Findings); ok {
		verdict = &document.Para{Mark: "first: " + f.Rule, MarkStyle: document.Bold, Text: fmt.Sprintf("in %s, which may cost %s of the time", f.Top, units.Percent(f.Score))}
	}
	return append(items, verdict)
}

// lookedAt says what was looked at.
func lookedAt(e *evidence.Evidence) []string {
	var words []string
	if e.Took > 0 {
		words = append(words, "looked at for "+units.Time(e.Took))
	}
	if e.Ops > 0 {
		words = append(words, units.Count(e.Ops)+" operations")
	}
	if e.Took <= 0 {
		return words
	}
	if e.Bytes > 0 {
		words = append(words, units.Rate(float64(e.Bytes)/e.Took.Seconds()))
	}
	if e.CPUTime > 0 {
		busy := fmt.Sprintf("%.2f processors busy", e.CPUTime.Seconds()/e.Took.Seconds())
		if queued := e.Queued.Seconds() / e.Took.Seconds(); queued > 0.1 {
			busy += fmt.Sprintf(" and %.2f waited for", queued)
		}
		words = append(words, busy)
	}
	return words
}

func notUsed(tool evidence.Tool) string {
	line := fmt.Sprintf("%s is %s", tool.Name, tool.State)
	if tool.State == evidence.Failed {
		line = tool.Name + " failed"
	}
	if tool.Note != "" {
		line += ": " + tool.Note
	}
	if advice := install[tool.Name]; tool.State == evidence.Missing && advice != "" && !strings.Contains(tool.Note, "install") {
		line += "; " + advice
	}
	return line
}

// shortTop takes the directories off a function's name and leaves all else, of
// which a path of a file or a URL may be, as it is.
func shortTop(top string) string {
	if strings.ContainsAny(top, " :") || !strings.Contains(top, ".") {
		return top
	}
	return document.ShortName(top)
}

// diagnosisSection is the part of a page on one diagnosis.
func diagnosisSection(section *document.Section, d *diagnose.Diagnosis) *document.Section {
	e := &d.Evidence
	section.Add(Diagnosis(d)...)
	section.Add(flames(e, section.ID)...)
	for _, t := range []*document.Table{
		callsTable(e.Calls), traceTable(e.Trace), blockedTable("Where goroutines waited", e.Trace, false),
		blockedTable("Where goroutines were in system calls that blocked", e.Trace, true), perfTable(e.Perf), scalingTable(e.Scaling),
	} {
		if t != nil && len(t.Rows) > 0 {
			section.Add(t)
		}
	}
	return section
}

// flames are the flame graphs: what costs time and what allocates openly, the
// rest folded.
func flames(e *evidence.Evidence, id string) []document.Item {
	var perf *evidence.Profile
	if e.Perf != nil {
		perf = e.Perf.Profile
	}
	var open []document.Item
	for _, p := range []struct {
		name, title string
		profile     *evidence.Profile
		open        bool
	}{
		{"cpu", "CPU time", e.CPU, true},
		{"space", "bytes allocated", e.Space, true},
		{"allocs", "objects allocated", e.Allocs, e.Space == nil},
		{"perf", "perf: samples with the kernel's frames", perf, false},
		{"block", "time spent waiting", e.Block, false},
		{"mutex", "time that others waited for a lock", e.Mutex, false},
	} {
		if p.profile == nil {
			continue
		}
		label := func(v float64) string { return units.Figure(v, p.profile.Unit) }
		if p.profile.Unit == "objects" {
			label = func(v float64) string { return units.Grouped(v) + " objects" }
		}
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

// stacks are those of a profile with the outermost function first.
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

func callsTable(c *evidence.Calls) *document.Table {
	if c == nil {
		return nil
	}
	t := &document.Table{Caption: "System calls (strace)", Columns: document.Columns("call", "count", "share", "errors", "time", "bytes/call", "under 512 B", "full", "most often")}
	for _, call := range c.ByName[:min(len(c.ByName), mostLines)] {
		row := []string{call.Name, units.Count(call.Count), "–", units.Count(call.Errors), units.Time(max(0, call.Time)), "–", "–", "–", "–"}
		if c.Total > 0 {
			row[2] = units.Percent(float64(call.Count) / float64(c.Total))
		}
		if moved := call.Count - call.Errors; call.Bytes > 0 && moved > 0 {
			row[5] = units.Bytes(float64(call.Bytes) / float64(moved))
			row[6], row[7] = units.Percent(float64(call.Under512)/float64(moved)), units.Percent(float64(call.Full)/float64(moved))
		}
		if len(call.Sizes) > 0 {
			row[8] = units.Bytes(call.Sizes[0].Bytes)
			if len(call.Asked) > 0 {
				row[8] += " of " + units.Bytes(call.Asked[0].Bytes)
			}
		}
		t.Add(row...)
	}
	return t
}

func traceTable(tr *evidence.Trace) *document.Table {
	if tr == nil {
		return nil
	}
	t := &document.Table{Caption: "Execution trace", Columns: document.Columns("what", "time", "share")}
	all := max(0, tr.Running) + max(0, tr.Runnable) + max(0, tr.Waiting) + max(0, tr.Syscall)
	add := func(name string, d, of time.Duration) {
		share := "–"
		if of > 0 {
			share = units.Percent(float64(max(0, d)) / float64(of))
		}
		t.Add(name, units.Time(max(0, d)), share)
	}
	add("goroutines running", tr.Running, all)
	add("goroutines ready, without a processor", tr.Runnable, all)
	add("goroutines waiting", tr.Waiting, all)
	add("goroutines in system calls", tr.Syscall, all)
	add(fmt.Sprintf("collecting (%s)", units.Plural(max(0, tr.GCs), "collection")), tr.GC, tr.Took)
	add("the world stopped", tr.Stopped, tr.Took)
	add("P50 until a ready goroutine ran", tr.Latency.P50, 0)
	add("P99 until a ready goroutine ran", tr.Latency.P99, 0)
	return t
}

func blockedTable(caption string, tr *evidence.Trace, inCalls bool) *document.Table {
	if tr == nil {
		return nil
	}
	list := tr.Blocked
	if inCalls {
		list = tr.InSyscall
	}
	t := &document.Table{Caption: caption, Columns: document.Columns("reason", "time", "times", "while in I/O", "where")}
	for _, b := range list[:min(len(list), mostLines)] {
		row := []string{b.Reason, units.Time(max(0, b.Time)), units.Count(b.Count), "–", "–"}
		if b.WhileIO > 0 && b.Time > 0 {
			row[3] = units.Percent(float64(b.WhileIO) / float64(b.Time))
		}
		if len(b.Frames) > 0 {
			row[4] = place(b.Frames)
		}
		t.Add(row...)
	}
	return t
}

// place names the innermost frame that is not the runtime's or sync's own.
func place(frames []evidence.Frame) string {
	at := frames[0]
	for _, f := range frames {
		if !slices.ContainsFunc([]string{"runtime.", "runtime/", "sync.", "internal/"}, func(prefix string) bool { return strings.HasPrefix(f.Func, prefix) }) {
			at = f
			break
		}
	}
	text := document.ShortName(at.Func)
	if at.File != "" {
		text += fmt.Sprintf(" (%s:%d)", document.Clip(at.File, 60), at.Line)
	}
	return text
}

func perfTable(p *evidence.Perf) *document.Table {
	if p == nil {
		return nil
	}
	t := &document.Table{Caption: "Counters (perf stat)", Columns: document.Columns("event", "count")}
	for _, name := range slices.Sorted(maps.Keys(p.Counters)) {
		if figures(name, p.Counters[name]) == nil {
			t.Add(name, units.Grouped(p.Counters[name]))
		}
	}
	for _, name := range p.Unsupported[:min(len(p.Unsupported), mostLines)] {
		t.Add(name, "not on this machine")
	}
	return t
}

func scalingTable(s *evidence.Scaling) *document.Table {
	if s == nil {
		return nil
	}
	t := &document.Table{Caption: "Scaling", Columns: document.Columns("processors", "operations/s", "to the first", "CPU/operation")}
	for i, n := range s.Procs {
		row := []string{fmt.Sprint(n), units.Number(s.OpsPerSec[i]), "–", "–"}
		if i < len(s.CPUPerOp) {
			row[3] = units.Nanoseconds(s.CPUPerOp[i])
		}
		if s.OpsPerSec[0] > 0 {
			row[2] = units.Ratio(s.OpsPerSec[i] / s.OpsPerSec[0])
		}
		t.Add(row...)
	}
	return t
}
