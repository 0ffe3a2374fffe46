package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose"
	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// mostLines is how many lines a table of evidence has.
const mostLines = 12

// A casePart is what a page says of one diagnosis.
type casePart struct {
	In       *inputLine
	Title    string
	About    string
	Findings []findingLine
	Tools    []evidence.Tool
	Keys     []legend // of the flame graphs
	Open     []*flamegraph
	Folded   []*flamegraph
	Tables   []evidenceTable
}

type findingLine struct {
	Rank                   int // of those that a rule found; 0 for what was only seen
	Rule, Tool, Top, Short string
	Share, Cost, Clue, Try string
}

// An evidenceTable is what one tool saw.
type evidenceTable struct {
	Title string
	Heads []string
	Rows  [][]string
}

func newCasePart(in *inputLine, d *diagnose.Diagnosis) casePart {
	e := &d.Evidence
	p := casePart{In: in, Title: e.Workload, Tools: e.Tools, Keys: flameKinds}
	var about []string
	if e.Took > 0 {
		about = append(about, "ran for "+units.Time(e.Took))
	}
	if e.CPUTime > 0 {
		about = append(about, units.Time(e.CPUTime)+" of processor time")
	}
	if e.Ops > 0 {
		about = append(about, units.Grouped(float64(e.Ops))+" operations")
	}
	if e.Bytes > 0 {
		about = append(about, units.Bytes(float64(e.Bytes))+" of payload")
	}
	if e.ReadCalls > 0 || e.WriteCalls > 0 {
		about = append(about, units.Grouped(float64(e.ReadCalls))+" reads", units.Grouped(float64(e.WriteCalls))+" writes")
	}
	if e.Queued > 0 {
		about = append(about, units.Time(e.Queued)+" ready without a processor")
	}
	p.About = strings.Join(about, ", ")
	rank := 0
	for _, f := range d.Findings {
		line := findingLine{Rule: f.Rule, Tool: f.Tool, Top: f.Top, Short: shortTop(f.Top), Share: units.Percent(f.Share), Clue: f.Clue, Try: f.Try}
		if f.Rule == "" && f.Share == 0 {
			line.Share = "" // there is no whole that it could be a part of
		}
		if f.Rule != "" {
			rank++
			line.Cost = units.Percent(f.Score)
			line.Rank = rank
		}
		p.Findings = append(p.Findings, line)
	}
	p.Open, p.Folded = flamegraphs(e, in.ID)
	for _, t := range []*evidenceTable{callsTable(e.Calls), traceTable(e.Trace), blockedTable("Where goroutines waited", e.Trace, false), blockedTable("Where goroutines were in system calls that blocked", e.Trace, true), perfTable(e.Perf), scalingTable(e.Scaling)} {
		if t != nil && len(t.Rows) > 0 {
			p.Tables = append(p.Tables, *t)
		}
	}
	return p
}

func callsTable(c *evidence.Calls) *evidenceTable {
	if c == nil {
		return nil
	}
	t := &evidenceTable{Title: "System calls (strace)", Heads: []string{"call", "count", "share", "errors", "time", "bytes/call", "under 512 B", "full", "most often"}}
	for _, call := range c.ByName[:min(len(c.ByName), mostLines)] {
		row := []string{call.Name, units.Grouped(float64(call.Count)), "–", units.Grouped(float64(call.Errors)), units.Time(max(0, call.Time)), "–", "–", "–", "–"}
		if c.Total > 0 {
			row[2] = units.Percent(float64(call.Count) / float64(c.Total))
		}
		if moved := call.Count - call.Errors; call.Bytes > 0 && moved > 0 {
			row[5] = units.Bytes(float64(call.Bytes) / float64(moved))
			row[6], row[7] = units.Percent(float64(call.Under512)/float64(moved)), units.Percent(float64(call.Full)/float64(moved))
		}
		if len(call.Sizes) > 0 {
			row[8] = units.Bytes(float64(call.Sizes[0].Bytes))
			if len(call.Asked) > 0 {
				row[8] += " of " + units.Bytes(float64(call.Asked[0].Bytes))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func traceTable(tr *evidence.Trace) *evidenceTable {
	if tr == nil {
		return nil
	}
	t := &evidenceTable{Title: "Execution trace", Heads: []string{"what", "time", "share"}}
	all := max(0, tr.Running) + max(0, tr.Runnable) + max(0, tr.Waiting) + max(0, tr.Syscall)
	add := func(name string, d, of time.Duration) {
		row := []string{name, units.Time(max(0, d)), "–"}
		if of > 0 {
			row[2] = units.Percent(float64(max(0, d)) / float64(of))
		}
		t.Rows = append(t.Rows, row)
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

func blockedTable(title string, tr *evidence.Trace, inCalls bool) *evidenceTable {
	if tr == nil {
		return nil
	}
	list := tr.Blocked
	if inCalls {
		list = tr.InSyscall
	}
	t := &evidenceTable{Title: title, Heads: []string{"reason", "time", "times", "while in I/O", "where"}}
	for _, b := range list[:min(len(list), mostLines)] {
		row := []string{b.Reason, units.Time(max(0, b.Time)), units.Grouped(float64(b.Count)), "–", "–"}
		if b.WhileIO > 0 && b.Time > 0 {
			row[3] = units.Percent(float64(b.WhileIO) / float64(b.Time))
		}
		if len(b.Frames) > 0 {
			row[4] = place(b.Frames)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// place names the innermost frame that is not the runtime's or sync's own.
func place(frames []evidence.Frame) string {
	at := frames[0]
	for _, f := range frames {
		if kindOfCode(f.Func) != "k-run" && !strings.HasPrefix(f.Func, "sync.") && !strings.HasPrefix(f.Func, "internal/") {
			at = f
			break
		}
	}
	text := shortName(at.Func)
	if at.File != "" {
		text += fmt.Sprintf(" (%s:%d)", clipped(at.File, 60), at.Line)
	}
	return text
}

func perfTable(p *evidence.Perf) *evidenceTable {
	if p == nil {
		return nil
	}
	t := &evidenceTable{Title: "Counters (perf stat)", Heads: []string{"event", "count"}}
	for _, name := range slices.Sorted(maps.Keys(p.Counters)) {
		if figures(name, p.Counters[name]) == nil {
			t.Rows = append(t.Rows, []string{name, units.Grouped(p.Counters[name])})
		}
	}
	for _, name := range p.Unsupported[:min(len(p.Unsupported), mostLines)] {
		t.Rows = append(t.Rows, []string{name, "not on this machine"})
	}
	return t
}

func scalingTable(s *evidence.Scaling) *evidenceTable {
	if s == nil {
		return nil
	}
	t := &evidenceTable{Title: "Scaling", Heads: []string{"processors", "operations/s", "to the first", "CPU/operation"}}
	for i, n := range s.Procs {
		row := []string{fmt.Sprint(n), units.Number(s.OpsPerSec[i]), "–", "–"}
		if i < len(s.CPUPerOp) {
			row[3] = units.Figure(s.CPUPerOp[i], "ns")
		}
		if s.OpsPerSec[0] > 0 {
			row[2] = units.Ratio(s.OpsPerSec[i] / s.OpsPerSec[0])
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// shortTop takes the directories off a function's name and leaves all else, of
// which a path of a file or a URL may be, as it is.
func shortTop(top string) string {
	if strings.ContainsAny(top, " :") || !strings.Contains(top, ".") {
		return top
	}
	return shortName(top)
}
