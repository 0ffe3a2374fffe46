package report

import (
	"cmp"
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// useText says what one process used, by what; names are those of useNames.
func useText(u *load.Use, r *load.Result) map[string]string {
	n := float64(r.Requests)
	text := map[string]string{}
	known := func(name string, value *float64, write func(float64) string) {
		if value != nil {
			text[name] = write(*value)
		}
	}
	positive := func(name string, value float64, write func(float64) string) {
		if value > 0 {
			text[name] = write(value)
		}
	}
	positive("CPU/request", u.CPUPerOp, units.Nanoseconds)
	if u.CPU > 0 {
		text["  user, system"] = units.Nanoseconds(float64(u.User)/n) + ", " + units.Nanoseconds(float64(u.System)/n)
	}
	if u.Voluntary != nil && u.Involuntary != nil {
		text["switches/request"] = units.Number(float64(*u.Voluntary+*u.Involuntary) / n)
	}
	if u.Queued != nil && r.Measured > 0 {
		text["waited for a CPU"] = units.Percent(float64(*u.Queued) / float64(r.Measured))
	}
	known("syscalls/request", u.SyscallsPerOp, func(v float64) string {
		text := units.Number(v)
		if u.SyscallsAtLeast {
			text = "≥ " + text
		}
		if u.SyscallsNote != "" {
			text += " *"
		}
		return text
	})
	known("allocations/request", u.AllocsPerOp, units.Number)
	if u.GCs != nil {
		if text["GC pauses"] = units.Plural(int(*u.GCs), "GC"); u.GCPause != nil && *u.GCs > 0 {
			text["GC pauses"] = units.Time(*u.GCPause) + " in " + text["GC pauses"]
		}
	}
	positive("resident", float64(u.Resident), units.Bytes[float64])
	known("resident/connection", u.ResidentPerConn, units.Bytes[float64])
	positive("threads", float64(u.Threads), units.Number)
	return text
}

var useNames = []string{"CPU/request", "  user, system", "switches/request", "waited for a CPU", "syscalls/request", "allocations/request", "GC pauses", "resident", "resident/connection", "threads"}

// use sets generator and target side by side. There have been requests.
func use(r *load.Result) []document.Item {
	t := &document.Table{Columns: document.Columns("used", "generator")}
	used, notes := []map[string]string{useText(&r.Generator, r)}, r.Generator.SyscallsNote
	if r.Target != nil {
		title := "target"
		if r.Plan.PID > 0 {
			title = fmt.Sprintf("target (%d)", r.Plan.PID)
		}
		t.Columns = append(t.Columns, document.Column{Name: title, Keep: true})
		used, notes = append(used, useText(r.Target, r)), cmp.Or(notes, r.Target.SyscallsNote)
	}
	for _, name := range useNames {
		cells, some := []string{name}, ""
		for _, text := range used {
			cells, some = append(cells, cmp.Or(text[name], "-")), some+text[name]
		}
		if some != "" {
			t.Add(cells...)
		}
	}
	items := []document.Item{t}
	if notes != "" {
		items = append(items, document.Note("* "+notes))
	}
	return items
}
