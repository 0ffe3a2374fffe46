package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/sluice-go/sluice/lab/internal/matrix"
	"github.com/sluice-go/sluice/lab/internal/stats"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// heatSteps is how many colours a heat map has. They are of one hue, from
// pale to dark (in the dark theme from dark to pale), so that they are told apart
// by their lightness alone.
const heatSteps = 9

// A heatmap is one figure of one layer of a grid. It is a table and no
// picture: every cell says its value in words, and a reader of screens reads
// it as one.
type heatmap struct {
	ID      string
	Layer   string
	Title   string // of the figure
	Corner  string // what rows and columns are
	Columns []heatHead
	Rows    []heatRow
	Lo, Hi  string // of the colours
	Better  string // more, or less
	Knee    bool   // there is one
	Steps   []string
}

type heatHead struct {
	Label string
	Knee  bool
}

type heatRow struct {
	Label string
	Cells []heatCell
}

type heatCell struct {
	Class string // h0 to h8, invalid, or none
	Value string
	Noise string
	Knee  bool
	About string
}

// heatmaps lists them, layer by layer.
func heatmaps(f *matrix.File, id string) []heatmap {
	var list []heatmap
	for l := range f.Layers {
		for i := range f.Figures {
			list = append(list, newHeatmap(f, l, &f.Figures[i], fmt.Sprintf("%s-%d-%d", id, l, i)))
		}
	}
	return list
}

func newHeatmap(f *matrix.File, layer int, what *matrix.Figure, id string) heatmap {
	h := heatmap{ID: id, Layer: f.Layers[layer], Title: what.Title, Corner: axisText(f.Rows) + " by " + axisText(f.Columns), Better: "less is better"}
	if h.Title == "" {
		h.Title = what.Name
	}
	if what.More {
		h.Better = "more is better"
	}
	for i := range heatSteps {
		h.Steps = append(h.Steps, fmt.Sprintf("h%d", i))
	}
	// A knee is one of a whole column, or of one cell.
	columns, cells := map[int]bool{}, map[[2]int]bool{}
	for i := range f.Knees {
		k := &f.Knees[i]
		if k.Layer != layer || (k.Figure != "" && k.Figure != what.Name) {
			continue
		}
		if h.Knee = true; k.Row != nil {
			cells[[2]int{*k.Row, k.Column}] = true
		} else {
			columns[k.Column] = true
		}
	}
	values := cellValues(f, layer, what.Name)
	lo, hi := math.Inf(1), 0.0
	for _, c := range values {
		if c != nil && len(c.valid) > 0 {
			if m := stats.Median(c.valid); m > 0 {
				lo, hi = min(lo, m), max(hi, m)
			}
		}
	}
	if hi > 0 {
		h.Lo, h.Hi = units.Figure(lo, what.Metric), units.Figure(hi, what.Metric)
	}
	for j, label := range f.Columns.Labels {
		h.Columns = append(h.Columns, heatHead{label, columns[j]})
	}
	for i, label := range f.Rows.Labels {
		r := heatRow{Label: label}
		for j := range f.Columns.Labels {
			c := newHeatCell(values[[2]int{i, j}], what.Metric, lo, hi)
			c.Knee = (columns[j] || cells[[2]int{i, j}]) && c.Class != "none"
			r.Cells = append(r.Cells, c)
		}
		h.Rows = append(h.Rows, r)
	}
	return h
}

// A cellValue is what a cell's runs say of one figure.
type cellValue struct {
	valid   []float64
	behind  []float64 // of runs in which the target did not keep up
	noise   float64   // as the file has it; 0 unknown
	runs    int
	reasons []string // of those that are not valid, each once
}

// invalid counts the runs that are not valid.
func (c *cellValue) invalid() int { return c.runs - len(c.valid) }

func cellValues(f *matrix.File, layer int, name string) map[[2]int]*cellValue {
	cells := map[[2]int]*cellValue{}
	for _, c := range f.Cells {
		if c.Layer != layer {
			continue
		}
		v := &cellValue{runs: len(c.Runs), noise: c.Noise[name]}
		for _, run := range c.Runs {
			value, ok := run.Figures[name]
			switch {
			case run.Valid && ok:
				v.valid = append(v.valid, value)
			case run.Behind && ok:
				v.behind = append(v.behind, value)
			}
			if !run.Valid && !slices.Contains(v.reasons, run.Reason) && len(v.reasons) < 8 {
				v.reasons = append(v.reasons, run.Reason)
			}
		}
		cells[[2]int{c.Row, c.Column}] = v
	}
	return cells
}

func newHeatCell(v *cellValue, metric string, lo, hi float64) heatCell {
	switch {
	case v == nil || v.runs == 0:
		return heatCell{Class: "none", Value: "–", About: "not measured"}
	case len(v.valid) == 0:
		about := "invalid"
		for _, r := range v.reasons {
			about += "; " + r
		}
		if len(v.behind) > 0 {
			return heatCell{Class: "invalid", Value: units.Figure(stats.Median(v.behind), metric), Noise: "not the rate", About: about}
		}
		return heatCell{Class: "invalid", Value: "invalid", About: about}
	}
	in := stats.MedianInterval(v.valid, stats.Confidence)
	c := heatCell{Value: units.Figure(in.Median, metric), Class: fmt.Sprintf("h%d", heatStep(in.Median, lo, hi))}
	c.About = fmt.Sprintf("median of %s, %s to %s", units.Plural(len(v.valid), "run"), units.Figure(slices.Min(v.valid), metric), units.Figure(slices.Max(v.valid), metric))
	if len(v.valid) > 1 && in.Median > 0 {
		if v.noise == 0 {
			v.noise = noise(v.valid)
		}
		c.Noise = "± " + units.Percent(v.noise)
	} else {
		c.Noise = units.Plural(len(v.valid), "run")
	}
	if n := v.invalid(); n > 0 {
		c.Class += " part"
		c.About += fmt.Sprintf("; %d of %d not valid", n, v.runs)
		for _, r := range v.reasons {
			c.About += "; " + r
		}
	}
	return c
}

// noise is half of what lies between the least and the largest value, as a part
// of the median.
func noise(values []float64) float64 {
	m := stats.Median(values)
	if m == 0 {
		return 0
	}
	return (slices.Max(values) - slices.Min(values)) / 2 / m
}

// heatStep places a value among the colours: by its logarithm where the values differ
// by more than a factor of ten, else evenly.
func heatStep(v, lo, hi float64) int {
	if !(hi > lo) || v <= 0 {
		return 0
	}
	part := (v - lo) / (hi - lo)
	if hi/lo > 10 {
		part = math.Log(v/lo) / math.Log(hi/lo)
	}
	return min(heatSteps-1, max(0, int(part*heatSteps)))
}

func axisText(a matrix.Axis) string {
	if a.Unit == "" || a.Unit == "B" || a.Unit == a.Name {
		return a.Name
	}
	return a.Name + " (" + a.Unit + ")"
}

func kneeText(k *matrix.Knee) string {
	text := "knee at " + k.Along + " " + k.Label
	if k.Open {
		text = "no knee up to " + k.Along + " " + k.Label
	}
	for _, more := range []string{k.Rule, k.Note} {
		if more != "" {
			text += ": " + more
		}
	}
	return text
}

func lastCut(metric string) (what, per string, ok bool) {
	for i := len(metric) - 1; i >= 0; i-- {
		if metric[i] == '/' {
			return metric[:i], metric[i+1:], true
		}
	}
	return metric, "", false
}
