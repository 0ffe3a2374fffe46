package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// A loadPart is what a page says of one run of load.
type loadPart struct {
	In       *inputLine
	Title    string
	Valid    bool
	Reasons  []load.Reason
	Errors   string
	Figures  []fact // the main ones
	Plan     []fact
	Times    [][]string // latency and service time, with heads
	Charts   []*chart
	Use      [][]string // by process, with heads
	Notes    []string
	Measured [][]string // calibration, with heads
}

func newLoadPart(in *inputLine, r *load.Result) loadPart {
	p := loadPart{In: in, Title: loadTitle(&r.Plan), Valid: r.Valid, Reasons: r.Reasons}
	if !r.Valid && len(p.Reasons) == 0 {
		p.Reasons = []load.Reason{{Text: "the file gives no reason"}}
	}
	if r.Errors > 0 {
		p.Errors = units.Grouped(float64(r.Errors)) + " requests or connections failed"
		if r.Error != "" {
			p.Errors += "; the first: " + r.Error
		}
	}
	p.figures(r)
	p.plan(r)
	p.Times = timesTable(r)
	runs, names := []*load.Result{r}, []string{"latency"}
	for _, c := range []*chart{percentilePlot(runs, names), throughputPlot(runs, names), tailPlot(r)} {
		if c != nil {
			p.Charts = append(p.Charts, c)
		}
	}
	p.use(r)
	if c := r.Calibration; c != nil {
		p.Measured = [][]string{
			{"", "count", "P50", "P90", "P99", "max"},
			distributionRow("a sleep of 1 ms ends late by", &c.Timer), distributionRow("a round trip of 64 B on loopback", &c.Loopback),
		}
		p.Notes = append(p.Notes, fmt.Sprintf("The generator's ceiling with this plan is %s requests/s at %s of CPU each; sends may be late by %s.",
			units.Number(c.Ceiling), units.Figure(c.CeilingCPU, "ns"), units.Time(c.LateAfter)))
	}
	return p
}

func distributionRow(name string, d *load.Distribution) []string {
	return []string{name, units.Grouped(float64(d.Count)), units.Time(d.P50), units.Time(d.P90), units.Time(d.P99), units.Time(d.Max)}
}

func (p *loadPart) figures(r *load.Result) {
	add := func(name, value string) { p.Figures = append(p.Figures, fact{Name: name, Value: value}) }
	add("throughput", units.Rate(r.Throughput))
	add("requests", units.Number(r.IOPS)+"/s")
	if d := r.Latency; d != nil && d.Count > 0 {
		add("P50", units.Time(d.P50))
		add("P99", units.Time(d.P99))
		add("P99.9", units.Time(d.P999))
		add("max", units.Time(d.Max))
		add("P99 jitter", units.Time(r.Jitter))
	}
}

func (p *loadPart) plan(r *load.Result) {
	add := func(name, value string) { p.Plan = append(p.Plan, fact{Name: name, Value: value}) }
	add("target", r.Plan.Target+", "+string(r.Plan.Protocol))
	add("model", rateText(&r.Plan))
	add("connections", fmt.Sprintf("%s with at most %s under way on each", units.Grouped(float64(r.Plan.Conns)), units.Plural(r.Plan.Depth, "request")))
	add("measured", fmt.Sprintf("%s after %s of warm-up: %s, %s", windowText(r.Measured), windowText(r.Plan.Warmup), units.Grouped(float64(r.Requests))+" requests", units.Bytes(float64(r.Bytes))))
	if r.Plan.Rate > 0 {
		add("sent late", units.Percent(r.Late)+" by the generator, by more than "+units.Time(r.LateAfter)+"; "+units.Percent(r.Shortfall)+" not in time to be counted")
	}
	add("generator busy", units.Percent(r.Busy))
	if r.Plan.Faults.Any() {
		f := r.Plan.Faults
		var list []string
		if f.SlowConns > 0 {
			list = append(list, fmt.Sprintf("%s read at most %s", units.Plural(f.SlowConns, "connection"), units.Rate(f.SlowRate)))
		}
		if f.ResetEvery > 0 {
			list = append(list, fmt.Sprintf("a reset every %s", units.Plural(f.ResetEvery, "request")))
		}
		if f.PauseEvery > 0 {
			list = append(list, fmt.Sprintf("a pause of %v every %v", f.PauseFor, f.PauseEvery))
		}
		add("faults", strings.Join(list, "; "))
	}
}

// loadTitle says a plan in a line.
func loadTitle(p *load.Plan) string {
	return fmt.Sprintf("%s over %s, %s, %s", sizesText(p.Sizes), units.Plural(p.Conns, "connection"), rateText(p), clipped(p.Target, 60))
}

// timesTable has a row for each distribution there is.
func timesTable(r *load.Result) [][]string {
	var rows [][]string
	add := func(name string, d *load.Distribution) {
		if d == nil || d.Count == 0 {
			return
		}
		if rows == nil {
			rows = append(rows, []string{"", "count", "min", "mean", "P50", "P90", "P99", "P99.9", "max"})
		}
		row := []string{name, units.Grouped(float64(d.Count))}
		for _, t := range []time.Duration{d.Min, d.Mean, d.P50, d.P90, d.P99, d.P999, d.Max} {
			row = append(row, units.Time(t))
		}
		rows = append(rows, row)
	}
	if r.Plan.Rate > 0 {
		add("latency, from the intended time", r.Latency)
		add("service time, from the send", r.Service)
	} else {
		add("latency, from the send", r.Latency)
	}
	return rows
}

// A useRow is one thing that processes use.
type useRow struct {
	name string
	text func(u *load.Use, requests float64) string
}

var useRows = []useRow{
	{"CPU/request", func(u *load.Use, _ float64) string { return optional(u.CPUPerOp, "ns") }},
	{"CPU, user + system", func(u *load.Use, _ float64) string {
		if u.CPU == 0 {
			return ""
		}
		return units.Time(u.User) + " + " + units.Time(u.System)
	}},
	{"waited for a processor", func(u *load.Use, _ float64) string {
		if u.Queued == nil {
			return ""
		}
		return units.Time(*u.Queued)
	}},
	{"context switches/request", func(u *load.Use, n float64) string {
		if u.Voluntary == nil || u.Involuntary == nil || n == 0 {
			return ""
		}
		return fmt.Sprintf("%s + %s involuntary", units.Number(float64(*u.Voluntary)/n), units.Number(float64(*u.Involuntary)/n))
	}},
	{"system calls/request", func(u *load.Use, _ float64) string {
		if u.SyscallsPerOp == nil {
			return ""
		}
		return units.Number(*u.SyscallsPerOp)
	}},
	{"allocations/request", func(u *load.Use, _ float64) string {
		if u.AllocsPerOp == nil {
			return ""
		}
		return units.Number(*u.AllocsPerOp)
	}},
	{"collections", func(u *load.Use, _ float64) string {
		if u.GCs == nil {
			return ""
		}
		text := units.Grouped(float64(*u.GCs))
		if u.GCPause != nil {
			text += ", paused " + units.Time(*u.GCPause)
		}
		return text
	}},
	{"resident", func(u *load.Use, _ float64) string { return optional(float64(u.Resident), "B") }},
	{"resident/connection", func(u *load.Use, _ float64) string {
		if u.ResidentPerConn == nil {
			return ""
		}
		return units.Bytes(*u.ResidentPerConn)
	}},
	{"threads", func(u *load.Use, _ float64) string {
		if u.Threads <= 0 {
			return ""
		}
		return fmt.Sprint(u.Threads)
	}},
}

func optional(v float64, metric string) string {
	if v <= 0 {
		return ""
	}
	return units.Figure(v, metric)
}

// use sets generator and target side by side, as far as something is known of either.
func (p *loadPart) use(r *load.Result) {
	heads := []string{"", "generator"}
	if r.Target != nil {
		heads = append(heads, "target")
	}
	rows := [][]string{heads}
	for _, row := range useRows {
		cells := []string{row.name, row.text(&r.Generator, float64(r.Requests))}
		known := cells[1] != ""
		if r.Target != nil {
			cells = append(cells, row.text(r.Target, float64(r.Requests)))
			known = known || cells[2] != ""
		}
		if !known {
			continue
		}
		for i := range cells {
			if cells[i] == "" {
				cells[i] = "–"
			}
		}
		rows = append(rows, cells)
	}
	if len(rows) > 1 {
		p.Use = rows
	}
	if note := r.Generator.SyscallsNote; note != "" {
		p.Notes = append(p.Notes, "Generator's system calls: "+note+".")
	}
	if r.Target != nil && r.Target.SyscallsNote != "" {
		p.Notes = append(p.Notes, "Target's system calls: "+r.Target.SyscallsNote+".")
	}
}

// loadsBeside has several runs in columns and in common plots.
type loadsBeside struct {
	Names  []string
	Rows   []besideRow
	Charts []*chart
}

type besideRow struct {
	Name  string
	Cells []besideCell
}

type besideCell struct {
	Value, Ratio string // to the first run that is valid
}

// mostColumns is how many runs stand in columns; more are in the list of results.
const mostColumns = 8

func newLoadsBeside(runs []*load.Result, names []string) *loadsBeside {
	runs, names = runs[:min(len(runs), mostColumns)], names[:min(len(names), mostColumns)]
	b := &loadsBeside{}
	first := max(0, slices.IndexFunc(runs, func(r *load.Result) bool { return r.Valid }))
	var numbered []string
	for i, name := range names {
		numbered = append(numbered, fmt.Sprintf("%d: %s", i+1, name))
	}
	b.Names = numbered
	text := func(name string, of func(r *load.Result) string) {
		row := besideRow{Name: name}
		for _, r := range runs {
			row.Cells = append(row.Cells, besideCell{Value: of(r)})
		}
		b.Rows = append(b.Rows, row)
	}
	add := func(name, metric string, of func(r *load.Result) (float64, bool)) {
		row := besideRow{Name: name}
		base, based := of(runs[first])
		for i, r := range runs {
			c := besideCell{Value: "–"}
			if v, ok := of(r); ok {
				c.Value = units.Figure(v, metric)
				if based && i > first && base > 0 && r.Valid {
					c.Ratio = units.Ratio(v / base)
				}
			}
			row.Cells = append(row.Cells, c)
		}
		b.Rows = append(b.Rows, row)
	}
	text("valid", func(r *load.Result) string {
		if r.Valid {
			return "yes"
		}
		return "INVALID"
	})
	text("model", func(r *load.Result) string { return rateText(&r.Plan) })
	text("size", func(r *load.Result) string { return sizesText(r.Plan.Sizes) })
	text("connections x depth", func(r *load.Result) string {
		return units.Grouped(float64(r.Plan.Conns)) + " x " + units.Grouped(float64(r.Plan.Depth))
	})
	add("throughput", "B/s", func(r *load.Result) (float64, bool) { return r.Throughput, true })
	add("requests", "/s", func(r *load.Result) (float64, bool) { return r.IOPS, true })
	for _, q := range []struct {
		name string
		of   func(d *load.Distribution) time.Duration
	}{
		{"P50", func(d *load.Distribution) time.Duration { return d.P50 }}, {"P90", func(d *load.Distribution) time.Duration { return d.P90 }},
		{"P99", func(d *load.Distribution) time.Duration { return d.P99 }}, {"P99.9", func(d *load.Distribution) time.Duration { return d.P999 }},
		{"max", func(d *load.Distribution) time.Duration { return d.Max }},
	} {
		add(q.name, "ns", func(r *load.Result) (float64, bool) {
			if r.Latency == nil || r.Latency.Count == 0 {
				return 0, false
			}
			return float64(q.of(r.Latency)), true
		})
	}
	add("P99 jitter", "ns", func(r *load.Result) (float64, bool) { return float64(r.Jitter), r.Valid && len(r.Jitters) > 0 })
	add("CPU/request, target", "ns", func(r *load.Result) (float64, bool) {
		if r.Target == nil {
			return 0, false
		}
		return r.Target.CPUPerOp, r.Target.CPUPerOp > 0
	})
	add("CPU/request, generator", "ns", func(r *load.Result) (float64, bool) { return r.Generator.CPUPerOp, r.Generator.CPUPerOp > 0 })
	for _, c := range []*chart{percentilePlot(runs, numbered), throughputPlot(runs, numbered)} {
		if c != nil {
			b.Charts = append(b.Charts, c)
		}
	}
	return b
}

// A fact is a name and what it is.
type fact struct{ Name, Value string }
