package report

import (
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// uses are what processes use, each with what is known of it.
var uses = []struct {
	name string
	text func(u *load.Use, r *load.Result) string
}{
	{"CPU/request", func(u *load.Use, _ *load.Result) string { return positive(u.CPUPerOp, units.Nanoseconds) }},
	{"  user, system", func(u *load.Use, r *load.Result) string {
		if u.CPU == 0 {
			return ""
		}
		n := float64(r.Requests)
		return units.Nanoseconds(float64(u.User)/n) + ", " + units.Nanoseconds(float64(u.System)/n)
	}},
	{"switches/request", func(u *load.Use, r *load.Result) string {
		if u.Voluntary == nil || u.Involuntary == nil {
			return ""
		}
		return units.Number(float64(*u.Voluntary+*u.Involuntary) / float64(r.Requests))
	}},
	{"waited for a CPU", func(u *load.Use, r *load.Result) string {
		if u.Queued == nil || r.Measured <= 0 {
			return ""
		}
		return units.Percent(float64(*u.Queued) / float64(r.Measured))
	}},
	{"syscalls/request", func(u *load.Use, _ *load.Result) string {
		text := known(u.SyscallsPerOp, units.Number)
		if text != "" && u.SyscallsAtLeast {
			text = "≥ " + text
		}
		if text != "" && u.SyscallsNote != "" {
			text += " *"
		}
		return text
	}},
	{"allocations/request", func(u *load.Use, _ *load.Result) string { return known(u.AllocsPerOp, units.Number) }},
	{"GC pauses", func(u *load.Use, _ *load.Result) string {
		if u.GCs == nil {
			return ""
		}
		text := units.Plural(int(*u.GCs), "GC")
		if u.GCPause != nil && *u.GCs > 0 {
			text = units.Time(*u.GCPause) + " in " + text
		}
		return text
	}},
	{"resident", func(u *load.Use, _ *load.Result) string { return positive(float64(u.Resident), units.Bytes[float64]) }},
	{"resident/connection", func(u *load.Use, _ *load.Result) string { return known(u.ResidentPerConn, units.Bytes[float64]) }},
	{"threads", func(u *load.Use, _ *load.Result) string { return positive(float64(u.Threads), units.Number) }},
}

func positive(v float64, text func(float64) string) string {
	if v <= 0 {
		return ""
	}
	return text(v)
}

func known(v *float64, text func(float64) string) string {
	if v == nil {
		return ""
	}
	return text(*v)
}

// use sets generator and target side by side. There have been requests.
func use(r *load.Result) []document.Item {
	t := &document.Table{Columns: document.Columns("used", "generator")}
	who, notes := []*load.Use{&r.Generator}, r.Generator.SyscallsNote
	if r.Target != nil {
		title := "target"
		if r.Plan.PID > 0 {
			title = fmt.Sprintf("target (%d)", r.Plan.PID)
		}
		t.Columns = append(t.Columns, document.Column{Name: title, Keep: true})
		if who = append(who, r.Target); notes == "" {
			notes = r.Target.SyscallsNote
		}
	}
	for _, row := range uses {
		cells, some := []string{row.name}, false
		for _, u := range who {
			text := row.text(u, r)
			if some = some || text != ""; text == "" {
				text = "-"
			}
			cells = append(cells, text)
		}
		if some {
			t.Add(cells...)
		}
	}
	items := []document.Item{t}
	if notes != "" {
		items = append(items, document.Note("* "+notes))
	}
	return items
}
