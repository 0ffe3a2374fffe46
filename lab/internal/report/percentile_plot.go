package report

import (
	"math"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// mostNines bounds the axis of percentiles: 99.9999 %.
const mostNines = 6

// percentilePlot draws the latencies of several runs, on an axis on which every
// further nine takes as much room, since it is the tail that people feel. Open loops
// have two lines: the latency from the intended time, and dashed the service time.
// It returns nil when no run has a latency.
func percentilePlot(runs []*load.Result, names []string) *chart {
	lo, hi, nines := math.Inf(1), 0.0, 1.0
	each := func(f func(i int, d *load.Distribution, service bool)) {
		for i, r := range runs {
			if !drawable(r.Latency) {
				continue
			}
			f(i, r.Latency, false)
			if r.Plan.Rate > 0 && drawable(r.Service) {
				f(i, r.Service, true)
			}
		}
	}
	shown, open := 0, false
	each(func(_ int, d *load.Distribution, service bool) {
		shown++
		open = open || service
		for _, q := range d.Curve {
			if at := float64(q.At); at > 0 {
				lo, hi = min(lo, at), max(hi, at)
			}
			if q.Q < 1 {
				nines = max(nines, min(mostNines, ninesOf(q.Q)))
			}
		}
	})
	if shown == 0 || hi == 0 {
		return nil
	}
	// What says 1 is the maximum, and stands a bit beyond the last share.
	width := nines + 0.25
	c := &chart{Title: "latency by percentile", Over: "percentile, each further nine as wide", What: "latency, logarithmic"}
	up := overDecades(lo, hi)
	c.up(up, 1000, func(v float64) string { return units.Figure(v, "ns") })
	for _, share := range []float64{0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999} {
		if at := ninesOf(share); at <= nines+1e-9 {
			c.across(at/width, percentText(share))
		}
	}
	c.across(1, "max")
	each(func(i int, d *load.Distribution, service bool) {
		var points [][2]float64
		for _, q := range d.Curve {
			x := width
			if q.Q < 1 {
				x = min(ninesOf(q.Q), nines)
			}
			points = append(points, [2]float64{chartX(x / width), chartY(up.at(float64(q.At)))})
		}
		s := series{Class: colour(i), Style: "line", Path: lineThrough(points)}
		text := names[i]
		switch {
		case service:
			s.Style, text = "dashed", text+": service time"
		case runs[i].Plan.Rate > 0:
			text += ": from the intended time"
		}
		if last := points[len(points)-1]; !service && len(runs) > 1 {
			s.Mark, s.X, s.Y = strconv.Itoa(i+1), last[0]+5, last[1]+4
		}
		c.Lines = append(c.Lines, s)
		c.Legend = append(c.Legend, legend{s.Class, s.Style, text})
	})
	c.Caption = "Latency by percentile."
	if open {
		c.Caption = "Latency by percentile. Lines count from the moment at which a request was to be sent, dashed lines from the one at which it was: where they part, requests waited to be sent."
	}
	return c
}

func drawable(d *load.Distribution) bool { return d != nil && d.Count > 0 && len(d.Curve) > 0 }

func ninesOf(share float64) float64 { return -math.Log10(max(1-share, 1e-12)) }

func percentText(share float64) string {
	text := strconv.FormatFloat(share*100, 'f', 4, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + " %"
}
