package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/measure"
)

// A Sample is one figure of a result with all values that it has: by round, by
// window, by run. It is what results are compared by, and what benchmark text is
// written from.
type Sample struct {
	Figure string    `json:"figure"` // "time/frame to peek", "throughput"
	Unit   string    `json:"unit"`   // as lab's metrics: "ns/op", "B/s"; ratio for a ratio
	Values []float64 `json:"-"`
	More   bool      `json:"more"` // more is better
	Role   Role      `json:"-"`
	Family Family    `json:"-"`
	Note   string    `json:"note,omitempty"`

	Least   float64   `json:"-"` // the least difference that counts, where it is not the kind's
	Windows bool      `json:"-"` // a single value may stand out: something happened in one window
	Whole   float64   `json:"-"` // the figure of the whole run, where that is not the values' median; 0 for none
	Crowded float64   `json:"-"` // for which part of the time a processor was missing, where that is in the figure; 0 not known
	Crowds  []float64 `json:"-"` // the same by value, where it is known
	Apart   float64   `json:"-"` // how many times as much it has to be where both runs were crowded
	Floor   float64   `json:"-"` // it is worse from here on, and at floorTimes what it was; 0 for other figures
}

// A Role says what a sample is for.
type Role int

const (
	Raw    Role = iota // for benchmark text only
	Shown              // compared, to be looked at
	Judged             // compared, and better or worse
)

// A Family is rows that are judged together. The chance of a false alarm is held
// for each of them, since what is counted hardly ever gives one, and there is much
// of it.
type Family int

const (
	Timed Family = iota
	Counted
)

const ratioUnit = "ratio"

// A Group is the samples of one thing: a variant, a run of load, a cell.
type Group struct {
	Item    string // for people: "framing/good next"
	Bench   string // as a benchmark's name
	N       uint64 // operations of a value, at least 1
	Samples []Sample
	Fault   string // why it has no samples
	Skipped bool   // it was not run
}

// Groups lists what a result has, in its order.
func (r *Result) Groups() []Group {
	switch {
	case r.Bench != nil:
		return benchGroups(r.Bench)
	case r.Load != nil:
		return []Group{loadGroup(r.Load)}
	}
	return nil // grids, ratios, rates that were tried, and findings
}

func (g *Group) one(figure, unit string, role Role, value float64) {
	if value > 0 {
		g.Samples = append(g.Samples, Sample{Figure: figure, Unit: unit, Values: []float64{value}, Role: role, Note: "a single value"})
	}
}

func benchGroups(f *File) []Group {
	var list []Group
	for i := range f.Scenarios {
		o := &f.Scenarios[i]
		if !o.Measured() {
			list = append(list, Group{Item: o.Name, Bench: capital(o.Name), Fault: fmt.Sprintf("%s: %s", o.State, o.Reason), Skipped: o.State == measure.Skipped})
			continue
		}
		for j := range o.Variants {
			if v := &o.Variants[j]; v.Skipped == "" {
				list = append(list, variantGroup(o, v))
			}
		}
	}
	return list
}

// variantGroup has, of a variant, the ratio to the baseline of its own run, in which
// the machine's speed cancels; what is counted and not timed as it is; and
// everything else raw. The baseline's own figure is there to look at.
func variantGroup(o *measure.Outcome, v *measure.Variant) Group {
	g := Group{Item: o.Name + " " + v.Name, Bench: capital(o.Name) + "/variant=" + part(v.Name), N: uint64(max(1, o.Ops))}
	more := moreIsBetter(o.Metric)
	metrics := v.Metrics()
	ordered(metrics, firstUnits, nil)
	for _, metric := range metrics {
		s := Sample{Figure: metricLabel(metric, o.Op), Unit: metric, Values: v.Values(metric), More: moreIsBetter(metric)}
		switch {
		case metric == o.Metric && v.Name == o.Baseline:
			s.Role, s.Note = Shown, "the baseline: the machine's own speed is in it"
		case metric != o.Metric && resolution[metric] > 0:
			s.Role, s.Family = Judged, Counted
		}
		g.Samples = append(g.Samples, s)
	}
	if v.Name != o.Baseline {
		if r := ratios(o, v.Name, o.Baseline, o.Metric); r != nil {
			g.Samples = append(g.Samples, Sample{Figure: metricLabel(o.Metric, o.Op) + " to " + o.Baseline, Unit: ratioUnit, Values: r, More: more, Role: Judged})
		}
	}
	return g
}

var firstUnits = []string{lab.NsPerOp, measure.MBPerS, lab.BytesPerOp, lab.AllocsPerOp}

func moreIsBetter(metric string) bool { return len(metric) > 2 && metric[len(metric)-2:] == "/s" }

// loadGroup has a value of throughput, requests and P99 for each window. A figure with
// only one value must differ by more to count.
func loadGroup(r *load.Result) Group {
	g := Group{Item: "load", Bench: "Load/" + loadName(&r.Plan), N: max(1, r.Requests)}
	if !r.Valid {
		g.Fault = "INVALID: " + load.Texts(r.Reasons)
		return g
	}
	var rate, requests, crowds []float64
	last := time.Duration(0)
	for _, s := range r.Series {
		if took := s.At - last; took > 0 {
			rate, requests = append(rate, s.Rate), append(requests, float64(s.Requests)/took.Seconds())
			if s.Crowded != nil {
				crowds = append(crowds, s.Crowded.Seconds()/took.Seconds())
			}
		}
		last = s.At
	}
	crowded, least := crowd(r, 0, r.Measured), 0.0
	if r.Plan.Rate > 0 {
		least = 0.03 // an open loop sends at the planned rate
	}
	g.Samples = append(g.Samples,
		Sample{Figure: "throughput", Unit: "B/s", Values: rate, More: true, Role: Shown},
		Sample{Figure: "requests", Unit: "req/s", Values: requests, More: true, Role: Judged, Windows: true, Least: least, Crowded: crowded, Crowds: crowds, Apart: apart})
	if d := r.Latency; d != nil && d.Count > 0 {
		for _, q := range []struct {
			figure, unit string
			whole        time.Duration
			of           func(load.DueWindow) time.Duration
		}{
			{"P50", "p50-ns", d.P50, func(w load.DueWindow) time.Duration { return w.P50 }},
			{"P99", "p99-ns", d.P99, func(w load.DueWindow) time.Duration { return w.P99 }},
			{"P99.9", "p99.9-ns", d.P999, func(w load.DueWindow) time.Duration { return w.P999 }},
		} {
			s := Sample{Figure: q.figure, Unit: q.unit, Role: Judged, Windows: true, Least: leastLatency, Whole: float64(q.whole), Crowded: crowded, Apart: tailsApart}
			if q.figure == "P50" {
				s.Apart = apart
			}
			last := time.Duration(0)
			for _, w := range r.Due {
				s.Values, s.Crowds = append(s.Values, float64(q.of(w))), append(s.Crowds, crowd(r, last, w.At))
				last = w.At
			}
			g.Samples = append(g.Samples, s)
		}
		g.Samples = append(g.Samples, Sample{Figure: "requests of 100 ms and more", Unit: "slow-%", Values: []float64{100 * slow(d)}, Role: Judged, Note: "and of ten times the P50",
			Floor: 100 * max(leastSlow, fewSlow/float64(d.Count)), Crowded: crowded, Apart: tailsApart})
		g.one("P90", "p90-ns", Shown, float64(d.P90))
		g.one("max", "max-ns", Raw, float64(d.Max))
	}
	gap := Sample{Figure: "longest time without an answer", Unit: "gap-ns", Values: []float64{float64(r.Gap)}, Role: Judged, Floor: float64(leastStall(r)), Apart: tailsApart}
	if r.GapCrowded != nil {
		gap.Crowded = max(0, *r.GapCrowded-mostBesideStall)
	}
	failed := 100 * (r.FailedShare() + float64(r.Resent)/float64(max(1, r.Requests)))
	g.Samples = append(g.Samples, gap, Sample{Figure: "requests failed or sent again", Unit: failedUnit, Values: []float64{failed}, Role: Judged, Floor: 100 * leastFailed})
	g.one("CPU/request of the generator", "generator-cpu-ns/op", Shown, r.Generator.CPUPerOp)
	if r.Target != nil && r.Target.CPUPerOp > 0 {
		g.Samples = append(g.Samples, Sample{Figure: "CPU/request of the target", Unit: targetCPU, Values: []float64{r.Target.CPUPerOp}, Role: Judged, Note: "a single value", Crowded: crowded, Apart: cpuApart})
	}
	return g
}

// crowd is for which part of the time between two moments others kept generator or target from a processor; where
// that is not known for which the generator waited in all of the run.
func crowd(r *load.Result, from, to time.Duration) float64 {
	last, took, crowded, known := time.Duration(0), time.Duration(0), time.Duration(0), false
	for _, s := range r.Series {
		known = known || s.Crowded != nil
		if s.Crowded != nil && last >= from && s.At <= to {
			took, crowded = took+s.At-last, crowded+*s.Crowded
		}
		last = s.At
	}
	if q := r.Generator.Queued; !known && q != nil {
		took, crowded = r.Measured, *q
	}
	return crowded.Seconds() / max(took.Seconds(), 1e-9)
}

// slow is the part of the requests that took a tenth of a second and more, and ten times what is usual here: a few in
// a thousand are beyond all percentiles that are judged.
func slow(d *load.Distribution) float64 {
	if at := slices.IndexFunc(d.Curve, func(q load.Quantile) bool { return q.At >= max(slowFrom, 10*d.P50) }); at >= 0 {
		return 1 - d.Curve[at].Q
	}
	return 0
}

const (
	slowFrom           = 100 * time.Millisecond
	leastSlow, fewSlow = 0.0003, 20 // a part, and requests
	leastLatency       = 0.6
	// mostBesideStall is for which part of a stall one of both may have waited for a processor without that being why.
	mostBesideStall = 0.6
	leastFailed     = 0.001
	targetCPU       = "target-cpu-ns/op"
	failedUnit      = "failed-%"
)

func loadName(p *load.Plan) string {
	model := "closed"
	if p.Rate > 0 {
		model = plain(p.Rate)
	}
	return fmt.Sprintf("protocol=%s/size=%d..%d/conns=%d/depth=%d/rate=%s", part(p.Speaks()), p.Sizes.Min, p.Sizes.Max, p.Conns, p.Depth, model)
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
	return document.Clip(text, 200)
}

// plain writes six significant digits without an exponent, as go test does.
func plain(value float64) string {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(value, 'g', 6, 64), 64) // it is a number
	return strconv.FormatFloat(short, 'f', -1, 64)
}

func capital(name string) string {
	first, size := utf8.DecodeRuneInString(name)
	return part(string(unicode.ToUpper(first)) + name[size:])
}

// WriteBenchstat writes a line for each value of a sample in the format that go
// test -bench prints, those of one round, window or run in one line:
//
//	BenchmarkFraming/good/variant=next-2  241000  64.1 ns/op  9984 MB/s  0 B/op  0 allocs/op  63.9 cpu-ns/op  0 gc-runs
//
// The last part of a name is "variant=", which benchstat can put side by side:
// benchstat -col /variant results.txt. Before each of several results stands a
// configuration line "result: NAME", for benchstat -col result. What is invalid
// has a comment instead of figures.
func WriteBenchstat(w io.Writer, results []*Result) error {
	b := bufio.NewWriter(w)
	for _, r := range results {
		if len(results) > 1 {
			fmt.Fprintf(b, "result: %s\n", part(r.Name))
		}
		m := r.Origin().Machine
		fmt.Fprintf(b, "goos: %s\ngoarch: %s\npkg: sluice/%s\n", part(m.OS), part(m.Arch), part(r.Kind))
		if m.CPU != "" {
			fmt.Fprintf(b, "cpu: %s\n", document.OneLine(m.CPU))
		}
		if r.Bench != nil {
			fmt.Fprintf(b, "seed: %d\nmode: %s\n", r.Bench.Seed, part(r.Bench.Mode))
		}
		for _, g := range r.Groups() {
			if g.Fault != "" {
				// A configuration line would be taken for the following benchmarks'.
				fmt.Fprintf(b, "# %s: %s\n", document.OneLine(g.Item), document.OneLine(g.Fault))
			}
			if g.Bench != "" {
				g.write(b, max(1, m.GOMAXPROCS))
			}
		}
	}
	return b.Flush()
}

func (g *Group) write(b *bufio.Writer, procs int) {
	for i := 0; ; i++ {
		var line strings.Builder
		for _, s := range g.Samples {
			if i < len(s.Values) && s.Unit != ratioUnit {
				fmt.Fprintf(&line, "\t%s %s", plain(s.Values[i]), part(s.Unit))
			}
		}
		if line.Len() == 0 {
			return
		}
		fmt.Fprintf(b, "Benchmark%s-%d\t%d%s\n", strings.ReplaceAll(g.Bench, " ", "-"), procs, g.N, line.String())
	}
}
