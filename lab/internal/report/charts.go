package report

import (
	"math"
	"time"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// mostPlotted is how many places a line has at most: about two for each three
// units of a chart's width.
const mostPlotted = 440

// loadCharts are those of one run, or of several in one picture each.
func loadCharts(runs []*load.Result, names []string) []document.Item {
	var items []document.Item
	charts := []*document.Chart{percentileChart(runs, names), throughputChart(runs, names)}
	if len(runs) == 1 {
		charts = append(charts, tailChart(runs[0]))
	}
	for _, c := range charts {
		if c != nil {
			items = append(items, c)
		}
	}
	return items
}

// percentileChart draws the latencies, on an axis on which every further nine takes
// as much room. Open loops have two lines: the latency from the time due, and
// dashed the service time. It is nil when no run has a latency.
func percentileChart(runs []*load.Result, names []string) *document.Chart {
	const mostNines = 6
	lo, hi, nines := math.Inf(1), 0.0, 1.0
	open := false
	see := func(d *load.Distribution) {
		if d == nil {
			return
		}
		for _, q := range d.Curve {
			if at := float64(q.At); at > 0 {
				lo, hi = min(lo, at), max(hi, at)
			}
			if q.Q < 1 {
				nines = max(nines, min(mostNines, document.Nines(q.Q)))
			}
		}
	}
	for _, r := range runs {
		if r.Latency == nil {
			continue
		}
		if see(r.Latency); r.Plan.Rate > 0 {
			see(r.Service)
			open = open || r.Service != nil
		}
	}
	if hi == 0 {
		return nil
	}
	// What says 1 is the maximum, and stands a bit beyond the last share.
	width := nines + 0.25
	c := document.NewChart("latency by percentile", document.Until(width, 10), document.Decades(lo, hi), units.Nanoseconds)
	c.What, c.Over = "latency, logarithmic", "percentile, each further nine as wide"
	for _, share := range []float64{0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999} {
		if at := document.Nines(share); at <= nines+1e-9 {
			c.Tick(at, document.PercentText(share))
		}
	}
	c.Tick(width, "max")
	line := func(run int, style, name string, d *load.Distribution) {
		if d == nil || len(d.Curve) == 0 {
			return
		}
		var points [][2]float64
		for _, q := range d.Curve {
			x := width
			if q.Q < 1 {
				x = min(document.Nines(q.Q), nines)
			}
			points = append(points, [2]float64{x, float64(q.At)})
		}
		c.Line(run, style, name, style == "line" && len(runs) > 1, points)
	}
	for i, r := range runs {
		if r.Plan.Rate > 0 {
			line(i, "line", names[i]+": from the time due", r.Latency)
			line(i, "dashed", names[i]+": service time", r.Service)
		} else {
			line(i, "line", names[i], r.Latency)
		}
	}
	if open {
		c.Caption = "Lines count from the moment at which a request was due, dashed lines from the one at which it was sent: where they part, requests waited to be sent."
	}
	return c
}

// throughputChart draws payload a second over time: the windows as dots when there
// is one run, the moving mean as a line. It is nil without two windows.
func throughputChart(runs []*load.Result, names []string) *document.Chart {
	var end time.Duration
	hi, windows := 0.0, 0
	for _, r := range runs {
		windows = max(windows, len(r.Series))
		for _, s := range r.Series {
			end, hi = max(end, s.At), max(hi, s.Mean)
			if len(runs) == 1 {
				hi = max(hi, s.Rate)
			}
		}
	}
	if windows < 2 || end == 0 {
		return nil
	}
	c := document.NewChart("throughput over time", document.Until(end.Seconds(), 60), document.FromZero(hi, 1000), units.Rate)
	c.What, c.Over = "payload a second", "time"
	c.Ticks(secondsText)
	for i, r := range runs {
		var dots, means [][2]float64
		for _, s := range thinned(r.Series, func(_, b load.Second) load.Second { return b }) {
			dots = append(dots, [2]float64{s.At.Seconds(), s.Rate})
			means = append(means, [2]float64{s.At.Seconds(), s.Mean})
		}
		name := names[i]
		if len(runs) == 1 {
			c.Dots(i, "each "+units.Time(r.Plan.Windows.Throughput), dots)
			name = "moving mean over " + units.Time(r.Plan.Windows.Mean)
		}
		c.Line(i, "line", name, len(runs) > 1, means)
	}
	return c
}

// tailChart draws the P99 of every window over time and, as bars as long as what
// they were taken over, their standard deviation. It is nil without two windows.
func tailChart(r *load.Result) *document.Chart {
	if len(r.P99s) < 2 {
		return nil
	}
	end := r.P99s[len(r.P99s)-1].At
	lo, hi := math.Inf(1), 0.0
	see := func(d time.Duration) {
		if d > 0 {
			lo, hi = min(lo, float64(d)), max(hi, float64(d))
		}
	}
	for _, p := range r.P99s {
		see(p.P99)
	}
	for _, s := range r.Jitters {
		see(s.StdDev)
	}
	if hi == 0 || end <= 0 {
		return nil
	}
	c := document.NewChart("P99 over time", document.Until(end.Seconds(), 60), document.Decades(lo, hi), units.Nanoseconds)
	c.What, c.Over = "P99 of each window, logarithmic", "time"
	c.Ticks(secondsText)
	var points [][2]float64
	var last time.Duration
	for _, p := range thinned(r.P99s, func(a, b load.WindowP99) load.WindowP99 { return load.WindowP99{At: b.At, P99: max(a.P99, b.P99)} }) {
		// Windows without an answer are left out of a result: the line must not
		// bridge them.
		if gap := p.At - last; last > 0 && r.Plan.Windows.P99 > 0 && len(r.P99s) <= mostPlotted && gap > 3*r.Plan.Windows.P99/2 {
			points = append(points, [2]float64{0, math.NaN()})
		}
		last = p.At
		points = append(points, [2]float64{p.At.Seconds(), float64(p.P99)})
	}
	c.Line(0, "line thin", "P99 of "+units.Time(r.Plan.Windows.P99), false, points)
	if len(r.P99s) > mostPlotted {
		c.Caption = "Of neighbouring windows the highest is drawn."
	}
	if len(r.Jitters) > 0 {
		var spans [][3]float64
		for _, s := range thinned(r.Jitters, func(_, b load.Span) load.Span { return b }) {
			spans = append(spans, [3]float64{max(0, s.At-r.Plan.Windows.Jitter).Seconds(), s.At.Seconds(), float64(s.StdDev)})
		}
		c.Spans(1, "jitter: standard deviation of the P99s over "+units.Time(r.Plan.Windows.Jitter), spans)
	}
	return c
}

// thinned puts so many neighbours together that no more than mostPlotted are left.
func thinned[T any](list []T, join func(a, b T) T) []T {
	every := (len(list) + mostPlotted - 1) / mostPlotted
	if every <= 1 {
		return list
	}
	var out []T
	for len(list) > 0 {
		n := min(every, len(list))
		one := list[0]
		for _, next := range list[1:n] {
			one = join(one, next)
		}
		out, list = append(out, one), list[n:]
	}
	return out
}

func secondsText(s float64) string {
	if s == 0 {
		return "0"
	}
	return units.Time(time.Duration(s * float64(time.Second)))
}
