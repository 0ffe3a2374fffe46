package report

import (
	"fmt"
	"math"
	"strings"
)

// A scale maps values to the part of an axis that lies before them, 0 to 1.
type scale struct {
	lo, hi float64
	log    bool
}

// fromZero is linear from 0 to a round value that is not below hi. step is how
// often a unit goes into the next: 1000, or 1024 for bytes.
func fromZero(hi, step float64) scale {
	if !(hi > 0) {
		hi = 1
	}
	t := tickStep(hi, step)
	return scale{0, t * math.Ceil(hi/t-1e-9), false}
}

// tickStep is a round value of which three to six fit.
func tickStep(hi, step float64) float64 {
	unit := 1.0
	for hi/unit >= step {
		unit *= step
	}
	for hi/unit < 1 {
		unit /= step
	}
	power := math.Pow(10, math.Floor(math.Log10(hi/unit)))
	for _, m := range []float64{0.2, 0.25, 0.5, 1, 2} {
		if hi/unit/power/m <= 5 {
			return m * power * unit
		}
	}
	return 2 * power * unit
}

// overDecades is logarithmic and reaches a little beyond what it shows. It
// spans at least a factor of four, so that noise does not fill the picture.
func overDecades(lo, hi float64) scale {
	if !(lo > 0) || !(hi >= lo) {
		return scale{1, 10, true}
	}
	lo, hi = lo/1.08, hi*1.08
	if hi/lo < 4 {
		middle := math.Sqrt(lo * hi)
		lo, hi = middle/2, middle*2
	}
	return scale{lo, hi, true}
}

// at is where a value stands; what lies outside stands at the end.
func (s scale) at(v float64) float64 {
	part := 0.0
	switch {
	case s.log && v > 0:
		part = math.Log(v/s.lo) / math.Log(s.hi/s.lo)
	case !s.log:
		part = (v - s.lo) / (s.hi - s.lo)
	}
	if math.IsNaN(part) {
		return 0
	}
	return min(1, max(0, part))
}

// ticks are round values within the scale, at most eight.
func (s scale) ticks(step float64) []float64 {
	var list []float64
	if !s.log {
		t := tickStep(s.hi, step)
		for i := 0; float64(i)*t <= s.hi*1.0001 && i < 12; i++ {
			list = append(list, float64(i)*t)
		}
		return list
	}
	first, last := math.Floor(math.Log10(s.lo)), math.Ceil(math.Log10(s.hi))
	for _, mantissas := range [][]float64{{1, 1.5, 2, 3, 4, 5, 6, 8}, {1, 2, 3, 5}, {1, 2, 5}, {1, 3}, {1}} {
		list = list[:0]
		for p := first; p <= last && len(list) < 64; p++ {
			for _, m := range mantissas {
				if v := m * math.Pow(10, p); v >= s.lo && v <= s.hi {
					list = append(list, v)
				}
			}
		}
		if len(list) <= 8 {
			return list
		}
	}
	every := (len(list) + 7) / 8
	for i := range len(list) / every {
		list[i] = list[i*every]
	}
	return list[:len(list)/every]
}

// Sizes of a chart in its own units. The page scales it, or lets it be moved
// sideways where it would become too small to read.
const (
	chartWidth  = 760
	chartLeft   = 78
	chartRight  = 736
	chartTop    = 22
	chartBottom = 232
	chartHeight = 276
)

// A chart is lines over two axes. Colours come from the page's style sheet, by the
// series' number.
type chart struct {
	Title, Caption string
	Over, What     string // what the axes are
	Across, Up     []notch
	Lines          []series
	Legend         []legend
}

// A series is drawn in one colour.
type series struct {
	Class string // s1, s2, ...
	Style string // line, dashed, dots, bars
	Path  string
	Mark  string // stands at the end of the line
	X, Y  float64
	dots  [][2]float64
}

// Dots are places, of a series of dots.
func (s series) Dots() [][2]float64 { return s.dots }

type legend struct{ Class, Style, Text string }

// Width and Height are those of the picture, the others where its frame is.
func (c *chart) Width() int  { return chartWidth }
func (c *chart) Height() int { return chartHeight }
func (c *chart) Left() int   { return chartLeft }
func (c *chart) Right() int  { return chartRight }
func (c *chart) Bottom() int { return chartBottom }
func (c *chart) Foot() int   { return chartHeight - 6 }

func chartX(part float64) float64 { return round1(chartLeft + (chartRight-chartLeft)*part) }
func chartY(part float64) float64 { return round1(chartBottom - (chartBottom-chartTop)*part) }

// up sets the axis of values.
func (c *chart) up(s scale, step float64, label func(float64) string) {
	for _, v := range s.ticks(step) {
		y := chartY(s.at(v))
		c.Up = append(c.Up, notch{fmt.Sprintf("M%d %.1fH%d", chartLeft, y, chartRight), label(v), chartLeft - 8, y + 4})
	}
}

// across adds a mark on the other one.
func (c *chart) across(part float64, label string) {
	x := chartX(part)
	c.Across = append(c.Across, notch{fmt.Sprintf("M%.1f %dV%d", x, chartTop, chartBottom), label, x, chartBottom + 17})
}

// colour is the class of the i-th of several series. There are six colours,
// after which they come again; numbers at the ends of lines tell more apart.
func colour(i int) string { return fmt.Sprintf("s%d", i%6+1) }

// lineThrough draws a line through places; it breaks where a place is missing,
// which is one with a NaN.
func lineThrough(points [][2]float64) string {
	var b strings.Builder
	pen := "M"
	for _, p := range points {
		if math.IsNaN(p[1]) {
			pen = "M"
			continue
		}
		fmt.Fprintf(&b, "%s%.1f %.1f", pen, p[0], p[1])
		pen = "L"
	}
	return b.String()
}
