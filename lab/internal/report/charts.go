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

func loadCharts(r *load.Result) (items []document.Item) {
	var rates, tails []moment
	top := 0.0
	for _, s := range r.Series {
		rates, top = append(rates, moment{s.At, s.Rate}), max(top, s.Rate)
	}
	for _, w := range r.Due {
		p99 := float64(w.P99)
		if w.Count == 0 {
			p99 = math.NaN() // no line bridges it
		}
		tails = append(tails, moment{w.At, p99})
	}
	for _, c := range []*document.Chart{
		percentileChart(r),
		timeChart("throughput over time", rates, func(float64, float64) document.Axis {
			return document.Linear("payload a second", top, units.Rate)
		}),
		timeChart("P99 over time", tails, func(lo, hi float64) document.Axis {
			return document.Logarithmic("P99 by the time due, logarithmic", lo, hi, units.Nanoseconds)
		}),
	} {
		if c != nil {
			items = append(items, c)
		}
	}
	return items
}

// percentileChart draws the latencies, on an axis on which every further nine takes
// as much room. Open loops have two lines: the latency from the time due, and
// dashed the service time. It is nil when there is no latency.
func percentileChart(r *load.Result) *document.Chart {
	const mostNines = 6
	lo, hi, nines := math.Inf(1), 0.0, 1.0
	c := &document.Chart{Title: "latency by percentile"}
	add := func(style, name string, d *load.Distribution) {
		if d == nil {
			return
		}
		l := document.Line{Name: name, Style: style}
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
	if r.Plan.Rate > 0 {
		add("line", "from the time due", r.Latency)
		add("dashed", "service time", r.Service)
		c.Caption = "The line counts from the moment at which a request was due, the dashed one from when it was sent: where they part, requests waited to be sent."
	} else {
		add("line", "from the send", r.Latency)
	}
	if hi == 0 {
		return nil
	}
	width := nines + 0.25 // the maximum, at infinity, stands a bit beyond the last share
	c.X = document.Linear("percentile, each further nine as wide", width, units.Number)
	// In this order: on a phone every other label is shown.
	c.X.Marks = []document.Mark{{Label: "0 %"}, {At: document.Nines(0.5), Label: "50 %"}}
	for n := 1; float64(n) <= nines; n++ {
		share := strconv.FormatFloat(100-math.Pow(10, float64(2-n)), 'f', max(0, n-2), 64)
		c.X.Marks = append(c.X.Marks, document.Mark{At: float64(n), Label: share + " %"})
	}
	c.X.Marks = append(c.X.Marks, document.Mark{At: width, Label: "max"})
	c.Y = document.Logarithmic("latency, logarithmic", lo, hi, units.Nanoseconds)
	return c
}

type moment struct {
	at    time.Duration
	value float64
}

// timeChart draws a value over time. It is nil without two values above 0.
func timeChart(title string, list []moment, upright func(lo, hi float64) document.Axis) *document.Chart {
	c := &document.Chart{Title: title}
	l := document.Line{Style: "line"}
	lo, hi := math.Inf(1), 0.0
	every := (len(list) + mostPlotted - 1) / mostPlotted
	for from := 0; from < len(list); from += every {
		highest := list[from]
		for _, m := range list[from+1 : min(from+every, len(list))] {
			if !(m.value <= highest.value) {
				highest.value = m.value
			}
		}
		l.Points = append(l.Points, [2]float64{highest.at.Seconds(), highest.value})
		if highest.value > 0 {
			lo, hi = min(lo, highest.value), max(hi, highest.value)
		}
	}
	if len(list) < 2 || hi == 0 {
		return nil
	}
	if every > 1 {
		c.Caption = "Of neighbouring values the highest is drawn."
	}
	c.Lines = []document.Line{l}
	c.X = document.Linear("time", list[len(list)-1].at.Seconds(), func(s float64) string { return units.Nanoseconds(s * 1e9) })
	c.Y = upright(lo, hi)
	return c
}
