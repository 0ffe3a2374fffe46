package report

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// mostPlotted is how many places a line has at most: about two for each
// three units of the picture's width.
const mostPlotted = 440

// throughputPlot draws payload bytes a second over time: the windows as dots
// when there is one run, the moving mean as a line. It returns nil without two
// windows.
func throughputPlot(runs []*load.Result, names []string) *chart {
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
	c := &chart{Title: "throughput over time", Over: "time", What: "payload a second"}
	up := fromZero(hi, 1000)
	c.up(up, 1000, units.Rate)
	timeAxis(c, end)
	for i, r := range runs {
		if len(r.Series) == 0 {
			continue
		}
		var dots, means [][2]float64
		for _, s := range thinned(r.Series, func(a, b load.Second) load.Second { return b }) {
			x := chartX(float64(s.At) / float64(end))
			dots = append(dots, [2]float64{x, chartY(up.at(s.Rate))})
			means = append(means, [2]float64{x, chartY(up.at(s.Mean))})
		}
		line := series{Class: colour(i), Style: "line", Path: lineThrough(means)}
		text := names[i]
		if len(runs) == 1 {
			c.Lines = append(c.Lines, series{Class: colour(i), Style: "dots", dots: dots})
			c.Legend = append(c.Legend, legend{colour(i), "dots", "each " + windowText(r.Plan.Windows.Throughput)})
			text = "moving mean over " + windowText(r.Plan.Windows.Mean)
		} else {
			last := means[len(means)-1]
			line.Mark, line.X, line.Y = strconv.Itoa(i+1), last[0]+5, last[1]+4
		}
		c.Lines = append(c.Lines, line)
		c.Legend = append(c.Legend, legend{line.Class, line.Style, text})
	}
	c.Caption = "Throughput over time."
	if len(runs) > 1 {
		c.Caption = "Moving means of the throughput over time."
	}
	if windows > mostPlotted {
		c.Caption += fmt.Sprintf(" Of %s windows every %d. is drawn.", units.Grouped(float64(windows)), (windows+mostPlotted-1)/mostPlotted)
	}
	return c
}

// tailPlot draws the P99 of every window over time and, as bars as long as what
// they were taken over, their standard deviation. It returns nil without two
// windows.
func tailPlot(r *load.Result) *chart {
	if len(r.P99s) < 2 {
		return nil
	}
	end := r.P99s[len(r.P99s)-1].At
	lo, hi := math.Inf(1), 0.0
	seen := func(d time.Duration) {
		if d > 0 {
			lo, hi = min(lo, float64(d)), max(hi, float64(d))
		}
	}
	for _, p := range r.P99s {
		seen(p.P99)
	}
	for _, s := range r.Jitters {
		seen(s.StdDev)
	}
	if hi == 0 || end <= 0 {
		return nil
	}
	c := &chart{Title: "P99 over time", Over: "time", What: "P99 of each window, logarithmic"}
	up := overDecades(lo, hi)
	c.up(up, 1000, func(v float64) string { return units.Figure(v, "ns") })
	timeAxis(c, end)
	var points [][2]float64
	var last time.Duration
	for _, p := range thinned(r.P99s, func(a, b load.WindowP99) load.WindowP99 {
		return load.WindowP99{At: b.At, Count: a.Count + b.Count, P99: max(a.P99, b.P99)}
	}) {
		// Windows without an answer are left out of a result: the line must not
		// bridge them.
		if gap := p.At - last; last > 0 && r.Plan.Windows.P99 > 0 && len(r.P99s) <= mostPlotted && gap > 3*r.Plan.Windows.P99/2 {
			points = append(points, [2]float64{0, math.NaN()})
		}
		last = p.At
		points = append(points, [2]float64{chartX(float64(p.At) / float64(end)), chartY(up.at(float64(p.P99)))})
	}
	c.Lines = append(c.Lines, series{Class: colour(0), Style: "line thin", Path: lineThrough(points)})
	c.Legend = append(c.Legend, legend{colour(0), "line", "P99 of " + windowText(r.Plan.Windows.P99)})
	c.Caption = "P99 of the requests answered in each window."
	if len(r.P99s) > mostPlotted {
		c.Caption += fmt.Sprintf(" Of %s windows the highest of each %d is drawn.", units.Grouped(float64(len(r.P99s))), (len(r.P99s)+mostPlotted-1)/mostPlotted)
	}
	if len(r.Jitters) > 0 {
		path := ""
		for _, s := range thinned(r.Jitters, func(a, b load.Span) load.Span { return b }) {
			y := chartY(up.at(float64(s.StdDev)))
			path += fmt.Sprintf("M%.1f %.1fH%.1f", chartX(max(0, float64(s.At-r.Plan.Windows.Jitter))/float64(end)), y, chartX(float64(s.At)/float64(end)))
		}
		c.Lines = append(c.Lines, series{Class: colour(1), Style: "bars", Path: path})
		c.Legend = append(c.Legend, legend{colour(1), "bars", "jitter: standard deviation of the P99s over " + windowText(r.Plan.Windows.Jitter)})
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

// timeAxis marks seconds from the begin of the measuring.
func timeAxis(c *chart, end time.Duration) {
	step := tickStep(end.Seconds(), 60)
	for i := 0; float64(i)*step <= end.Seconds()*1.0001 && i < 12; i++ {
		at := float64(i) * step
		c.across(at/end.Seconds(), seconds(at))
	}
}

func seconds(s float64) string {
	switch {
	case s >= 3600:
		return trimmed(s/3600) + " h"
	case s >= 120:
		return trimmed(s/60) + " min"
	case s >= 1 || s == 0:
		return trimmed(s) + " s"
	}
	return trimmed(s*1000) + " ms"
}

func trimmed(v float64) string { return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) }

// windowText writes the length of a window without needless zeros.
func windowText(d time.Duration) string {
	return seconds(d.Seconds())
}
