package stats

import (
	"fmt"
	"math"
)

// A Line is the straight line that fits some points best.
type Line struct {
	Intercept float64
	Slope     float64
	// R2 says how well it fits, from 0 to 1: the part of the variation of the
	// values that it accounts for. It is 1 when they do not vary.
	R2 float64
}

// At is the line's value at x.
func (l Line) At(x float64) float64 { return l.Intercept + l.Slope*x }

// Fit returns the line with the least sum of squares to the points. It panics
// when the two slices differ in length, and when all of x are the same: there is
// no line then.
func Fit(x, y []float64) Line {
	if len(x) != len(y) {
		panic(fmt.Sprintf("stats: a line through %d places and %d values", len(x), len(y)))
	}
	n := float64(len(x))
	var meanX, meanY float64
	for i := range x {
		meanX += x[i] / n
		meanY += y[i] / n
	}
	var xx, xy, yy float64
	for i := range x {
		dx, dy := x[i]-meanX, y[i]-meanY
		xx, xy, yy = xx+dx*dx, xy+dx*dy, yy+dy*dy
	}
	if xx == 0 {
		panic(fmt.Sprintf("stats: a line through %d points in one place", len(x)))
	}
	l := Line{Slope: xy / xx, R2: 1}
	l.Intercept = meanY - l.Slope*meanX
	if yy > 0 {
		l.R2 = math.Min(1, xy*xy/(xx*yy))
	}
	return l
}
