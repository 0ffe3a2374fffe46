package report

import (
	"math"
	"strconv"
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
	charts := []*document.Chart{
		percentileChart(runs, names),
		timeChart("throughput over time", "payload a second", runs, names, units.Rate, func(r *load.Result) (list []moment) {
			for _, s := range r.Series {
				list = append(list, moment{s.At, s.Rate})
			}
			return list
		}, func(hi float64) document.Axis { return document.Linear("payload a second", hi, units.Rate) }),
		timeChart("P99 over time", "P99 by the time due", runs, names, units.Nanoseconds, func(r *load.Result) (list []moment) {
			for _, w := range r.Due {
				p99 := float64(w.P99)
				if w.Count == 0 {
					p99 = math.NaN() // no line bridges it
				}
				list = append(list, moment{w.At, p99})
			}
			return list
		}, nil),
	}
	var items []document.Item
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
	c := &document.Chart{Title: "latency by percentile"}
	add := func(run int, style, name string, d *load.Distribution) {
		if d == nil {
			return
		}
		l := document.Line{Name: name, Run: run, Style: style}
		for _, q := range d.Curve {
			if at := float64(q.At); at > 0 {
				lo, hi = min(lo, at), max(hi, at)
			}
			x := math.Inf(1)
			if q.Q < 1 {
				x = min(mostNines, document.Nines(q.Q))
				nines = max(nines, x)
			}
			l.Points = append(l.Points, [2]float64{x, float64(q.At)})
		}
		c.Lines = append(c.Lines, l)
	}
	for i, r := range runs {
		switch {
		case r.Latency == nil:
		case r.Plan.Rate > 0 && r.Service != nil:
			add(i, "line", names[i]+": from the time due", r.Latency)
			add(i, "dashed", names[i]+": service time", r.Service)
			c.Caption = "Lines count from the moment at which a request was due, dashed lines from the one at which it was sent: where they part, requests waited to be sent."
		default:
			add(i, "line", names[i], r.Latency)
		}
	}
	if hi == 0 {
		return nil
	}
	width := nines + 0.25 // the maximum, at infinity, stands a bit beyond the last share
	c.X = document.Linear("percentile, each further nine as wide", width, units.Number)
	c.X.Marks = []document.Mark{{At: document.Nines(0.5), Label: "50 %"}, {At: width, Label: "max"}}
	for n := 0; float64(n) <= nines; n++ {
		share := strconv.FormatFloat(100-math.Pow(10, float64(2-n)), 'f', max(0, n-2), 64)
		c.X.Marks = append(c.X.Marks, document.Mark{At: float64(n), Label: share + " %"})
	}
	c.Y = document.Logarithmic("latency, logarithmic", lo, hi, units.Nanoseconds)
	return c
}

// A moment is a value at a time.
type moment struct {
	at    time.Duration
	value float64
}

// timeChart draws a value over time, a line for each run. The upright axis is
// logarithmic unless another is given. It is nil without two values above 0.
func timeChart(title, what string, runs []*load.Result, names []string, label func(float64) string, of func(*load.Result) []moment, upright func(hi float64) document.Axis) *document.Chart {
	c := &document.Chart{Title: title}
	end, lo, hi, most := time.Duration(0), math.Inf(1), 0.0, 0
	for i, r := range runs {
		list := of(r)
		if len(list) == 0 {
			continue
		}
		l := document.Line{Name: names[i], Run: i, Style: "line"}
		every := (len(list) + mostPlotted - 1) / mostPlotted
		for from := 0; from < len(list); from += every {
			highest := list[from]
			for _, m := range list[from+1 : min(from+every, len(list))] {
				if !(m.value <= highest.value) {
					highest.value = m.value
				}
			}
			l.Points = append(l.Points, [2]float64{highest.at.Seconds(), highest.value})
			end = max(end, highest.at)
			if highest.value > 0 {
				lo, hi = min(lo, highest.value), max(hi, highest.value)
			}
		}
		if every > 1 {
			c.Caption = "Of neighbouring values the highest is drawn."
		}
		most = max(most, len(list))
		c.Lines = append(c.Lines, l)
	}
	if most < 2 || end <= 0 || hi == 0 {
		return nil
	}
	c.X = document.Linear("time", end.Seconds(), func(s float64) string { return units.Nanoseconds(s * 1e9) })
	if c.Y = document.Logarithmic(what+", logarithmic", lo, hi, label); upright != nil {
		c.Y = upright(hi)
	}
	return c
}
