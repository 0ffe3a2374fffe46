package report

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/sluice-go/sluice/lab/internal/measure"
	"github.com/sluice-go/sluice/lab/internal/stats"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// Sizes of a curve: in units of its own, and in characters.
const (
	curveWidth  = plotWidth
	curveHeight = 260
	curveLeft   = 90
	curveRight  = 730
	curveTop    = 12
	curveFoot   = 226
	curveLabels = 244

	curveColumns = 60
	curveLines   = 14
)

// A curve shows a figure against the place where each variant stands, from the
// origin, and the straight line that fits best.
type curve struct {
	Title   string
	Caption string
	points  []point
	fit     stats.Line
	over    string // what the axis is
	metric  string
	label   string // what the figure is
	maxX    float64
	maxY    float64
}

type point struct {
	x float64
	y stats.Interval
}

// newCurve returns nil when the outcome has no curve, or not two points of it.
func newCurve(o *measure.Outcome) *curve {
	if o.Curve == nil || !o.Measured() {
		return nil
	}
	c := &curve{over: o.Curve.X, metric: o.Curve.Metric, label: metricLabel(o.Curve.Metric, o.Op)}
	var x, y []float64
	for i := range o.Variants {
		v := &o.Variants[i]
		values := v.Values(c.metric)
		if values == nil {
			continue
		}
		p := point{v.X, stats.MedianInterval(values, stats.Confidence)}
		c.points = append(c.points, p)
		x, y = append(x, p.x), append(y, p.y.Median)
		c.maxX, c.maxY = max(c.maxX, p.x), max(c.maxY, p.y.Median)
	}
	if len(c.points) < 2 || c.maxX <= 0 || c.maxY <= 0 {
		return nil
	}
	c.fit = stats.Fit(x, y)
	c.maxY = max(c.maxY, c.fit.At(c.maxX))
	c.Title = fmt.Sprintf("%s: %s by %s", o.Name, c.label, c.over)
	c.Caption = fmt.Sprintf("Medians of %s by %s with their 95 %% intervals; the dashed line is the best straight one: %s.", c.label, c.over, c.formula())
	return c
}

// formula writes the line that fits.
func (c *curve) formula() string {
	sign, intercept := "+", c.fit.Intercept
	if intercept < 0 {
		sign, intercept = "-", -intercept
	}
	return fmt.Sprintf("%s x %s %s %s, R² %.4f", units.Figure(c.fit.Slope, c.metric), c.over, sign, units.Figure(intercept, c.metric), c.fit.R2)
}

// lines draws the curve in characters: o for the medians, dots for the line that
// fits.
func (c *curve) lines() []string {
	var cells [curveLines][curveColumns]rune
	for i := range cells {
		for j := range cells[i] {
			cells[i][j] = ' '
		}
	}
	row := func(y float64) int { return curveLines - 1 - int(math.Round(y/c.maxY*(curveLines-1))) }
	for j := range curveColumns {
		// A line may begin below the origin.
		if y := c.fit.At(c.maxX * float64(j) / (curveColumns - 1)); y >= 0 && y <= c.maxY {
			cells[row(y)][j] = '.'
		}
	}
	for _, p := range c.points {
		cells[row(p.y.Median)][int(math.Round(p.x/c.maxX*(curveColumns-1)))] = 'o'
	}

	top, half := units.Figure(c.maxY, c.metric), units.Figure(c.maxY/2, c.metric)
	margin := max(utf8.RuneCountInString(top), utf8.RuneCountInString(half))
	lines := []string{c.label + " by " + c.over}
	for i := range cells {
		label := ""
		switch i {
		case 0:
			label = top
		case curveLines - 1:
			label = "0"
		case curveLines / 2:
			label = units.Figure(c.maxY*(curveLines-1-curveLines/2)/(curveLines-1), c.metric)
		}
		lines = append(lines, fmt.Sprintf("%*s |%s", margin, label, strings.TrimRight(string(cells[i][:]), " ")))
	}
	lines = append(lines,
		strings.Repeat(" ", margin)+" +"+strings.Repeat("-", curveColumns),
		fmt.Sprintf("%*s  0%*s", margin, "", curveColumns-1, units.Grouped(c.maxX)),
		"fit: "+c.formula())
	return lines
}

// A notch is a mark on an axis with its label.
type notch struct {
	Path, Label string
	X, Y        float64
}

// Width and Height are those of the picture.
func (c *curve) Width() int  { return curveWidth }
func (c *curve) Height() int { return curveHeight }

func (c *curve) px(x float64) float64 {
	return round1(curveLeft + (curveRight-curveLeft)*x/c.maxX)
}

// py cuts off what is above the frame: the end of an interval may be far away,
// and would leave no room for the rest.
func (c *curve) py(y float64) float64 {
	return round1(curveFoot - (curveFoot-curveTop)*min(1, y/c.maxY))
}

func round1(v float64) float64 { return math.Round(v*10) / 10 }

// Across are the points' own places.
func (c *curve) Across() []notch {
	list := []notch{{fmt.Sprintf("M%d %dV%d", curveLeft, curveTop, curveFoot), "0", curveLeft, curveLabels}}
	for _, p := range c.points {
		x := c.px(p.x)
		list = append(list, notch{fmt.Sprintf("M%.1f %dV%d", x, curveTop, curveFoot), units.Grouped(p.x), x, curveLabels})
	}
	return list
}

// Up are quarters of the highest.
func (c *curve) Up() []notch {
	var list []notch
	for i := range 5 {
		value := c.maxY * float64(i) / 4
		y := c.py(value)
		list = append(list, notch{fmt.Sprintf("M%d %.1fH%d", curveLeft, y, curveRight), units.Figure(value, c.metric), curveLeft - 8, y + 4})
	}
	return list
}

// FitPath is the line that fits, from where it is above the axis.
func (c *curve) FitPath() string {
	from := 0.0
	if c.fit.Intercept < 0 && c.fit.Slope > 0 {
		from = -c.fit.Intercept / c.fit.Slope
	}
	return fmt.Sprintf("M%.1f %.1fL%.1f %.1f", c.px(from), c.py(c.fit.At(from)), c.px(c.maxX), c.py(max(0, c.fit.At(c.maxX))))
}

// A dot is a median with the ends of its interval.
type dot struct {
	X, Y, Lo, Hi float64
	Text         string
}

// Dots are the points.
func (c *curve) Dots() []dot {
	var list []dot
	for _, p := range c.points {
		list = append(list, dot{c.px(p.x), c.py(p.y.Median), c.py(p.y.Lo), c.py(p.y.Hi),
			fmt.Sprintf("%s %s: %s", units.Grouped(p.x), c.over, units.Figure(p.y.Median, c.metric))})
	}
	return list
}
