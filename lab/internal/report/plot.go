package report

import (
	"fmt"
	"math"

	"github.com/sluice-go/sluice/lab/internal/units"
)

// Sizes of a plot in its own units, which the page scales to the column.
const (
	plotWidth  = 760
	plotLeft   = 150 // names
	plotRight  = 640 // figures stand beyond
	plotTop    = 10
	plotRow    = 26
	plotBottom = 30 // ticks
)

// A plot shows the ratios of one scenario on a logarithmic axis, where half
// and double are equally far from 1: for each variant the median as a dot, its interval
// as a bar, and the ratio of every round as a faint dot. The colours come
// from the page's style sheet, by the class of the verdict.
type plot struct {
	Width, Height int
	Left, Right   int
	Top, Bottom   float64 // of the axis
	Title         string
	Caption       string
	One           float64 // x of the baseline
	Ticks         []tick
	Marks         []mark
}

type tick struct {
	X     float64
	Label string
}

type mark struct {
	Name, Class, Text string
	Y, TextY          float64
	X, Lo, Hi         float64
	Bound             float64 // x of a target, or 0
	BoundText         string
	BoundTop          float64
	BoundBottom       float64
	Dots              []float64
	Baseline          bool
}

// newPlot returns nil when there are no ratios to show.
func newPlot(s *Summary) *plot {
	lo, hi := 1.0, 1.0
	count, shown := 0, 0
	for _, r := range s.Rows {
		if r.Skipped != "" {
			continue
		}
		shown++
		if r.Ratio == nil || r.Ratio.Lo <= 0 {
			continue
		}
		count++
		lo, hi = min(lo, r.Ratio.Lo), max(hi, r.Ratio.Hi)
	}
	if count == 0 {
		return nil
	}
	for _, t := range s.Targets {
		if limit, _ := bound(t.Target); inColumn(s, t) && limit > 0 {
			lo, hi = min(lo, limit), max(hi, limit)
		}
	}
	axis := newAxis(lo, hi)
	p := &plot{
		Width: plotWidth, Height: plotTop + shown*plotRow + plotBottom,
		Left: plotLeft, Right: plotRight, Top: plotTop, Bottom: float64(plotTop + shown*plotRow),
		Title: fmt.Sprintf("%s: ratio to %s, by variant", s.Scenario, s.Baseline),
		One:   axis.x(1),
	}
	p.Caption = "Ratio to " + s.Baseline + " of " + s.Metric + ", logarithmic."
	for _, value := range axis.ticks() {
		p.Ticks = append(p.Ticks, tick{axis.x(value), tickLabel(value)})
	}
	y := float64(plotTop) + plotRow/2.0
	for _, r := range s.Rows {
		if r.Skipped != "" {
			continue
		}
		m := mark{Name: r.Variant, Y: y, TextY: y + 4, Class: "same", Baseline: r.Variant == s.Baseline}
		switch {
		case m.Baseline:
			m.X, m.Text = p.One, "baseline"
		case r.Ratio == nil || r.Ratio.Lo <= 0:
			m.Text = "no ratio"
		default:
			m.X, m.Lo, m.Hi = axis.x(r.Ratio.Median), axis.x(r.Ratio.Lo), axis.x(r.Ratio.Hi)
			m.Text = units.Ratio(r.Ratio.Median)
			if r.Verdict == "~" {
				m.Text = "~ " + m.Text
			} else {
				m.Class = r.Verdict
			}
			for _, ratio := range r.ratios {
				// A round that something else ruined may lie far outside.
				if x := axis.x(ratio); x >= plotLeft && x <= plotRight {
					m.Dots = append(m.Dots, x)
				}
			}
			for _, t := range s.Targets {
				if limit, below := bound(t.Target); t.Variant == r.Variant && inColumn(s, t) && limit > 0 {
					m.Bound, m.BoundText = axis.x(limit), t.Promise()
					m.BoundTop, m.BoundBottom = y-9, y+9
					side := "most"
					if !below {
						side = "least"
					}
					p.Caption = "Ratio to " + s.Baseline + " of " + s.Metric + ", logarithmic; the upright marks are targets: at " + side + " so much."
				}
			}
		}
		p.Marks = append(p.Marks, m)
		y += plotRow
	}
	return p
}

// Path is the line of the baseline from top to bottom, and of a tick.
func (p *plot) Path(x float64) string {
	return fmt.Sprintf("M%.1f %.1fV%.1f", x, p.Top, p.Bottom)
}

// Labels is where the ticks' labels stand.
func (p *plot) Labels() float64 { return p.Bottom + 16 }

// An axis is logarithmic, from lo to hi over the plot's width.
type axis struct{ lo, hi float64 }

// newAxis leaves a margin, and shows at least the range from 0.8 to 1.25, so
// that noise does not fill the whole width.
func newAxis(lo, hi float64) axis {
	lo, hi = min(lo, 0.8), max(hi, 1.25)
	margin := math.Pow(hi/lo, 0.04)
	return axis{lo / margin, hi * margin}
}

func (a axis) x(value float64) float64 {
	x := plotLeft + (plotRight-plotLeft)*math.Log(value/a.lo)/math.Log(a.hi/a.lo)
	return math.Round(x*10) / 10
}

// ticks are round values; the finest list of which no more than ten are
// needed.
func (a axis) ticks() []float64 {
	for _, mantissas := range [][]float64{
		{1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2, 2.5, 3, 4, 5, 6, 7, 8, 9},
		{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9},
		{1, 1.5, 2, 3, 4, 5, 7},
		{1, 2, 5},
		{1},
	} {
		var values []float64
		for power := math.Floor(math.Log10(a.lo)); power <= math.Ceil(math.Log10(a.hi)); power++ {
			for _, m := range mantissas {
				if value := m * math.Pow(10, power); value >= a.lo && value <= a.hi {
					values = append(values, value)
				}
			}
		}
		if len(values) <= 10 {
			return values
		}
	}
	return []float64{1}
}

func tickLabel(value float64) string {
	if value >= 1000 {
		return units.Grouped(value)
	}
	return fmt.Sprintf("%.3g", value)
}
