package document

import (
	"fmt"
	"math"
	"strings"
)

// Sizes of a chart in its own units. The page scales it, or lets it be moved
// sideways where it would become too small to read.
const (
	chartLeft   = 78
	chartRight  = 736
	chartTop    = 22
	chartBottom = 232
)

// A Chart is lines over two axes, as SVG that follows the theme of the page. A
// terminal does not show it.
type Chart struct {
	Title, Caption string
	X, Y           Axis
	Lines          []Line
}

// An Axis maps values to the part of its length that lies before them.
type Axis struct {
	Name   string
	Marks  []Mark
	lo, hi float64
	log    bool
}

// A Mark is a place on an axis with its label.
type Mark struct {
	At    float64
	Label string
}

// A Line goes through points, and is broken where a value is NaN.
type Line struct {
	Name   string // in the legend; empty for none
	Style  string // line or dashed
	Points [][2]float64
}

// Linear is an axis from 0 to hi with marks at round values.
func Linear(name string, hi float64, label func(float64) string) Axis {
	if !(hi > 0) {
		hi = 1
	}
	a := Axis{Name: name, hi: hi}
	step := math.Pow(10, math.Floor(math.Log10(hi)))
	for _, part := range []float64{0.2, 0.5, 1, 2} {
		if hi/(step*part) <= 6 {
			step *= part
			break
		}
	}
	for i := 0; float64(i)*step <= hi*1.0001 && i < 8; i++ {
		a.Marks = append(a.Marks, Mark{float64(i) * step, label(float64(i) * step)})
	}
	return a
}

// Logarithmic is an axis that reaches a little beyond lo and hi, and over a factor of four
// at least, so that noise does not fill the picture.
func Logarithmic(name string, lo, hi float64, label func(float64) string) Axis {
	if !(lo > 0) || !(hi >= lo) {
		lo, hi = 1, 10
	}
	middle := math.Sqrt(lo * hi)
	a := Axis{Name: name, lo: min(lo/1.08, middle/2), hi: max(hi*1.08, middle*2), log: true}
	steps := []float64{1, 2, 5}
	if a.hi/a.lo > 100 {
		steps = steps[:1]
	}
	for power := math.Floor(math.Log10(a.lo)); power <= math.Log10(a.hi); power++ {
		for _, step := range steps {
			if v := step * math.Pow(10, power); v >= a.lo && v <= a.hi {
				a.Marks = append(a.Marks, Mark{v, label(v)})
			}
		}
	}
	for len(a.Marks) > 9 {
		for i := range len(a.Marks) / 2 {
			a.Marks[i] = a.Marks[2*i]
		}
		a.Marks = a.Marks[:len(a.Marks)/2]
	}
	return a
}

// at is where a value stands, 0 to 1; what lies outside stands at the end.
func (a *Axis) at(v float64) float64 {
	part := (v - a.lo) / (a.hi - a.lo)
	if a.log {
		part = math.Log(v/a.lo) / math.Log(a.hi/a.lo)
	}
	if math.IsNaN(part) {
		return 0
	}
	return min(1, max(0, part))
}

// XAt and YAt are coordinates in the picture.
func (c *Chart) XAt(v float64) float64 {
	return math.Round(10*(chartLeft+(chartRight-chartLeft)*c.X.at(v))) / 10
}

func (c *Chart) YAt(v float64) float64 {
	return math.Round(10*(chartBottom-(chartBottom-chartTop)*c.Y.at(v))) / 10
}

// Path is a line as SVG has it.
func (c *Chart) Path(l Line) string {
	var b strings.Builder
	pen := "M"
	for _, p := range l.Points {
		if math.IsNaN(p[1]) {
			pen = "M"
			continue
		}
		fmt.Fprintf(&b, "%s%.1f %.1f", pen, c.XAt(p[0]), c.YAt(p[1]))
		pen = "L"
	}
	return b.String()
}

// Nines is how many nines a share has, so that on an axis of it each further nine
// takes as much room.
func Nines(share float64) float64 { return -math.Log10(max(1-share, 1e-12)) }
