package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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

// waitsTable is what goroutines did, of all moments at which they were looked at.
func waitsTable(w *evidence.Waits) *document.Table {
	if w == nil {
		return nil
	}
	t := &document.Table{Caption: "What goroutines did, on average", Columns: document.Columns("goroutines", "what", "at first", "at last", "holder in I/O", "where")}
	for _, row := range []struct {
		mean float64
		what string
	}{{w.Running, "running"}, {w.Runnable, "ready, without a processor"}, {w.Syscall, "in system calls"}, {w.Waiting, "waiting"}} {
		t.Add(fmt.Sprintf("%.1f", row.mean), row.what, "–", "–", "–", "–")
	}
	for _, p := range w.Places[:min(len(w.Places), mostLines)] {
		row := []string{fmt.Sprintf("%.1f", p.Mean), p.Reason, units.Count(int64(p.First)), units.Count(int64(p.Last)), "–", "–"}
		if p.WhileIO > 0 && evidence.LocksGoroutines(p.Reason) {
			row[4] = units.Percent(p.WhileIO)
		}
		if len(p.Frames) > 0 {
			row[5] = place(p.Frames)
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
