package report

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode"

	"github.com/sluice-go/sluice/lab/internal/diagnose"
	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/matrix"
)

// WriteBenchstat writes any results as benchmark text, one after the other, with
// a configuration line "result: NAME" before each, so that benchstat -col result
// sets them side by side. A load has a line for each window and one for what
// there is one of; a matrix one for each valid run of a cell. What is
// invalid has a comment instead of figures.
func WriteBenchstat(w io.Writer, results []*Result) error {
	b := bufio.NewWriter(w)
	for _, r := range results {
		if r.Bench == nil || len(results) > 1 {
			fmt.Fprintf(b, "result: %s\n", part(r.Name))
		}
		if r.Bench != nil {
			if err := r.Bench.WriteBenchstat(b); err != nil {
				return err
			}
			continue
		}
		m := r.Machine()
		fmt.Fprintf(b, "goos: %s\ngoarch: %s\npkg: sluice/%s\n", part(m.OS), part(m.Arch), r.Kind)
		if m.CPU != "" {
			fmt.Fprintf(b, "cpu: %s\n", oneLine(m.CPU))
		}
		switch {
		case r.Load != nil:
			benchLoad(b, r.Load)
		case r.Matrix != nil:
			benchMatrix(b, r.Matrix)
		default:
			benchDiagnosis(b, r.Diagnosis)
		}
	}
	return b.Flush()
}

// putLine writes one line. Figures are pairs of value and unit, of which those that
// are no number are left out.
func putLine(b *bufio.Writer, name string, procs int, n uint64, figures ...any) {
	var text strings.Builder
	for i := 0; i+1 < len(figures); i += 2 {
		if v := figures[i].(float64); !math.IsNaN(v) {
			fmt.Fprintf(&text, "\t%s %s", plain(v), part(figures[i+1].(string)))
		}
	}
	if text.Len() > 0 {
		fmt.Fprintf(b, "Benchmark%s-%d\t%d%s\n", name, max(1, procs), max(1, n), text.String())
	}
}

// part makes a text fit to stand between spaces and slashes of a benchmark's
// line.
func part(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return '-'
		}
		return r
	}, text)
	if text == "" {
		return "-"
	}
	return clipped(text, 200)
}

func benchLoad(b *bufio.Writer, r *load.Result) {
	if !r.Valid {
		fmt.Fprintf(b, "# INVALID: %s\n", oneLine(load.Texts(r.Reasons)))
		return
	}
	name := "Load/" + loadName(&r.Plan)
	procs := r.Machine.GOMAXPROCS
	perSecond := requests(r)
	for i, s := range r.Series {
		if i < len(perSecond) {
			putLine(b, name, procs, s.Requests, s.Rate, "B/s", perSecond[i], "req/s")
		}
	}
	for _, w := range r.P99s {
		putLine(b, name, procs, w.Count, float64(w.P99), "window-p99-ns")
	}
	var once []any
	if d := r.Latency; d != nil && d.Count > 0 {
		once = append(once, float64(d.P50), "p50-ns", float64(d.P90), "p90-ns", float64(d.P99), "p99-ns", float64(d.P999), "p99.9-ns", float64(d.Max), "max-ns", float64(r.Jitter), "jitter-ns")
	}
	if r.Generator.CPUPerOp > 0 {
		once = append(once, r.Generator.CPUPerOp, "generator-cpu-ns/op")
	}
	if r.Target != nil && r.Target.CPUPerOp > 0 {
		once = append(once, r.Target.CPUPerOp, "target-cpu-ns/op")
	}
	putLine(b, name, procs, r.Requests, once...)
}

// matrixUnits name what benchstat shows for the figures of a grid.
var matrixUnits = map[string]string{
	matrix.Throughput: "B/s", matrix.IOPS: "req/s", matrix.Median: "p50-ns", matrix.P99: "p99-ns", matrix.Jitter: "jitter-ns", matrix.TargetCPU: "target-cpu-ns/op",
}

func benchMatrix(b *bufio.Writer, f *matrix.File) {
	for _, c := range f.Cells {
		name := fmt.Sprintf("Matrix/grid=%s/layer=%s/%s=%s/%s=%s", part(f.Name), part(f.Layers[c.Layer]),
			part(f.Rows.Name), part(f.Rows.Labels[c.Row]), part(f.Columns.Name), part(f.Columns.Labels[c.Column]))
		for _, run := range c.Runs {
			if !run.Valid {
				fmt.Fprintf(b, "# %s: INVALID: %s\n", name, oneLine(run.Reason))
				continue
			}
			var list []any
			for _, figure := range f.Figures {
				if v, ok := run.Figures[figure.Name]; ok {
					unit := matrixUnits[figure.Name]
					if unit == "" {
						unit = figure.Name + "-" + figure.Metric
					}
					list = append(list, v, unit)
				}
			}
			putLine(b, name, f.Machine.GOMAXPROCS, 1, list...)
		}
	}
}

func benchDiagnosis(b *bufio.Writer, d *diagnose.Diagnosis) {
	e := &d.Evidence
	for _, f := range d.Findings {
		fmt.Fprintf(b, "# %s: %s: %s\n", oneLine(f.Tool), oneLine(f.Top), oneLine(f.Clue))
	}
	name := "Diagnosis/workload=" + part(e.Workload)
	n := uint64(max(1, e.Ops))
	list := []any{float64(e.Took) / float64(n), "ns/op"}
	if e.CPUTime > 0 {
		list = append(list, float64(e.CPUTime)/float64(n), "cpu-ns/op")
	}
	if e.Bytes > 0 && e.Took > 0 {
		list = append(list, float64(e.Bytes)/e.Took.Seconds(), "B/s")
	}
	putLine(b, name, d.Machine.GOMAXPROCS, n, list...)
}

// loadName says a plan as parts of a benchmark's name.
func loadName(p *load.Plan) string {
	model := "closed"
	if p.Rate > 0 {
		model = plain(p.Rate)
		if p.RateBytes {
			model += "B"
		}
	}
	return fmt.Sprintf("protocol=%s/size=%d..%d/conns=%d/depth=%d/rate=%s", part(string(p.Protocol)), p.Sizes.Min, p.Sizes.Max, p.Conns, p.Depth, model)
}
