package document

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

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

// A Chart is lines over two axes, as SVG that follows the theme of the page: a
// plotting library would fix its colours. A terminal does not have it.
type Chart struct {
	Title, Caption string
	What, Over     string // what the axes are: upright, and across
	Across, Up     []notch
	Lines          []series
	Legend         []legend

	x, y Scale
}

// A notch is a mark on an axis with its label.
type notch struct {
	Path, Label string
	X, Y        float64
}

// A series is drawn in one colour.
type series struct {
	Class string // s1, s2, ...
	Style string // line, dashed, dots, bars
	Path  string
	Mark  string // stands at the end of the line
	X, Y  float64
	Dots  [][2]float64
}

type legend struct{ Class, Style, Text string }

// NewChart has marks on the upright axis at round values.
func NewChart(title string, x, y Scale, label func(float64) string) *Chart {
	c := &Chart{Title: title, x: x, y: y}
	for _, v := range y.ticks() {
		at := round(c.py(v))
		c.Up = append(c.Up, notch{fmt.Sprintf("M%d %.1fH%d", chartLeft, at, chartRight), label(v), chartLeft - 8, at + 4})
	}
	return c
}

// Ticks marks round values on the axis across.
func (c *Chart) Ticks(label func(float64) string) {
	for _, v := range c.x.ticks() {
		c.Tick(v, label(v))
	}
}

// Tick marks a place on the axis across.
func (c *Chart) Tick(v float64, label string) {
	at := c.px(v)
	c.Across = append(c.Across, notch{fmt.Sprintf("M%.1f %dV%d", at, chartTop, chartBottom), label, at, chartBottom + 17})
}

// Line draws a line through points, broken where one is NaN. The lines of one run
// have one number, from 0, which gives their colour; a dashed style distinguishes two
// of them. With marked the number stands at the line's end too.
func (c *Chart) Line(run int, style, name string, marked bool, points [][2]float64) {
	s := series{Class: colour(run), Style: style}
	var b strings.Builder
	pen := "M"
	for _, p := range points {
		if math.IsNaN(p[1]) {
			pen = "M"
			continue
		}
		s.X, s.Y = c.px(p[0]), c.py(p[1])
		fmt.Fprintf(&b, "%s%.1f %.1f", pen, s.X, s.Y)
		pen = "L"
	}
	s.Path = b.String()
	if marked && s.Path != "" {
		s.Mark, s.X, s.Y = strconv.Itoa(run+1), s.X+5, s.Y+4
	}
	c.add(s, name)
}

// Dots draws points.
func (c *Chart) Dots(run int, name string, points [][2]float64) {
	s := series{Class: colour(run), Style: "dots"}
	for _, p := range points {
		s.Dots = append(s.Dots, [2]float64{c.px(p[0]), c.py(p[1])})
	}
	c.add(s, name)
}

// Spans draws bars, each from one place to another at a height.
func (c *Chart) Spans(run int, name string, spans [][3]float64) {
	s := series{Class: colour(run), Style: "bars"}
	for _, p := range spans {
		s.Path += fmt.Sprintf("M%.1f %.1fH%.1f", c.px(p[0]), c.py(p[2]), c.px(p[1]))
	}
	c.add(s, name)
}

func (c *Chart) add(s series, name string) {
	c.Lines = append(c.Lines, s)
	if name != "" {
		c.Legend = append(c.Legend, legend{s.Class, s.Style, name})
	}
}

// Width and Height are those of the picture, the others where its frame is.
func (c *Chart) Width() int  { return chartWidth }
func (c *Chart) Height() int { return chartHeight }
func (c *Chart) Left() int   { return chartLeft }
func (c *Chart) Right() int  { return chartRight }
func (c *Chart) Foot() int   { return chartHeight - 6 }

func (c *Chart) px(v float64) float64 {
	return round(chartLeft + (chartRight-chartLeft)*c.x.at(v))
}

func (c *Chart) py(v float64) float64 {
	return round(chartBottom - (chartBottom-chartTop)*c.y.at(v))
}

func round(v float64) float64 { return math.Round(v*10) / 10 }

// colour is the class of the i-th of several runs. There are six colours, which
// repeat; numbers at the ends of lines distinguish more.
func colour(i int) string { return fmt.Sprintf("s%d", i%6+1) }
