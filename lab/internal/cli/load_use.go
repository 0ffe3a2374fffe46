package cli

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// use prints what generator and target used, beside each other. There have been
// requests.
func (t loadPage) use(r *load.Result) {
	columns := [][]string{
		{"used", "CPU/request", "  user, system", "switches/request", "waited for a CPU", "syscalls/request", "allocations/request", "GC pauses", "resident/connection", "threads"},
		usage("generator", &r.Generator, r),
	}
	note := r.Generator.SyscallsNote
	if r.Target != nil {
		title := "target"
		if r.Plan.PID > 0 {
			title = fmt.Sprintf("target (%d)", r.Plan.PID)
		}
		columns = append(columns, usage(title, r.Target, r))
		if note == "" {
			note = r.Target.SyscallsNote
		}
	}
	t.table(columns)
	if note != "" {
		t.line("* %s", note)
	}
}

// unknown stands where the system does not tell.
const unknown = "-"

// usage is a column.
func usage(title string, u *load.Use, r *load.Result) []string {
	ops := float64(r.Requests)
	column := []string{title, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown}
	if u.CPU > 0 {
		column[1] = units.Time(time.Duration(u.CPUPerOp))
		column[2] = units.Time(time.Duration(float64(u.User)/ops)) + ", " + units.Time(time.Duration(float64(u.System)/ops))
	}
	if u.Voluntary != nil && u.Involuntary != nil {
		column[3] = units.Number(float64(*u.Voluntary+*u.Involuntary) / ops)
	}
	if u.Queued != nil && r.Measured > 0 {
		column[4] = units.Percent(float64(*u.Queued) / float64(r.Measured))
	}
	if u.SyscallsPerOp != nil {
		column[5] = units.Number(*u.SyscallsPerOp)
		if u.SyscallsAtLeast {
			column[5] = "≥ " + column[5]
		}
		if u.SyscallsNote != "" {
			column[5] += " *"
		}
	}
	if u.AllocsPerOp != nil {
		column[6] = units.Number(*u.AllocsPerOp)
	}
	if u.GCs != nil {
		column[7] = fmt.Sprintf("%d GCs", *u.GCs)
		if *u.GCs == 1 {
			column[7] = "1 GC"
		}
		if u.GCPause != nil && *u.GCs > 0 {
			column[7] = units.Time(*u.GCPause) + " in " + column[7]
		}
	}
	if u.ResidentPerConn != nil {
		column[8] = units.Bytes(*u.ResidentPerConn)
	}
	if u.Threads > 0 {
		column[9] = fmt.Sprint(u.Threads)
	}
	return column
}
