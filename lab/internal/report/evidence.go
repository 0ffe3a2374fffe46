package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/units"
)

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
		t.Add(name, units.Grouped(p.Counters[name]))
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
