package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/sluice-go/sluice/lab/internal/matrix"
)

// matrix compares two runs of the same grid: each layer as a whole, by the
// geometric mean over its cells in each round, and each cell. A whole layer has little
// noise, so that a change of everything shows there first.
func (c *Comparison) matrix(earlier, later *matrix.File) error {
	if earlier.Name != later.Name {
		return fmt.Errorf("%s is a grid of %s, %s one of %s: they %w", c.Old, earlier.Name, c.New, later.Name, ErrNotComparable)
	}
	if !sameAxis(earlier.Rows, later.Rows) || !sameAxis(earlier.Columns, later.Columns) {
		c.doubt("another plan: the grids have other sides; what both have is compared")
	}
	if earlier.CellTime != later.CellTime {
		c.doubt("another plan: a cell took %v, takes %v", earlier.CellTime, later.CellTime)
	}
	for i := range later.Figures {
		figure := &later.Figures[i]
		for l, layer := range later.Layers {
			was := slices.Index(earlier.Layers, layer)
			if was < 0 {
				continue
			}
			before, after := byLabel(earlier, was, figure.Name), byLabel(later, l, figure.Name)
			title := figure.Title
			if title == "" {
				title = figure.Name
			}
			var cells []Change
			var olds, news [][]roundValue
			for _, at := range cellsInOrder(later) {
				a, b := before[at], after[at]
				if len(a) == 0 || len(b) == 0 {
					continue
				}
				olds, news = append(olds, a), append(news, b)
				cells = append(cells, Change{
					Item: layer + " " + at[0] + " x " + at[1], Figure: title, Metric: figure.Metric, More: figure.More, Judged: true,
					earlier: plainValues(a), later: plainValues(b),
				})
			}
			if len(cells) > 1 {
				c.add(Change{Item: layer + " as a whole", Figure: title, Metric: figure.Metric, More: figure.More, Judged: true, Note: "geometric mean over the cells, by round", family: wholeRows}, together(olds), together(news))
			}
			for _, ch := range cells {
				c.add(ch, ch.earlier, ch.later)
			}
		}
	}
	return nil
}

type roundValue struct {
	round int
	value float64
}

func plainValues(list []roundValue) []float64 {
	values := make([]float64, len(list))
	for i, v := range list {
		values[i] = v.value
	}
	return values
}

// byLabel has the valid values of a layer by the labels of row and column, which
// stay when a grid gets more of them.
func byLabel(f *matrix.File, layer int, name string) map[[2]string][]roundValue {
	cells := map[[2]string][]roundValue{}
	for _, c := range f.Cells {
		if c.Layer != layer {
			continue
		}
		at := [2]string{f.Rows.Labels[c.Row], f.Columns.Labels[c.Column]}
		for _, run := range c.Runs {
			if v, ok := run.Figures[name]; ok && run.Valid {
				cells[at] = append(cells[at], roundValue{run.Round, v})
			}
		}
	}
	return cells
}

func cellsInOrder(f *matrix.File) [][2]string {
	var list [][2]string
	for _, row := range f.Rows.Labels {
		for _, column := range f.Columns.Labels {
			list = append(list, [2]string{row, column})
		}
	}
	return list
}

// together takes the geometric mean over the cells of each round that all of
// them have.
func together(cells [][]roundValue) []float64 {
	sums, counts := map[int]float64{}, map[int]int{}
	for _, list := range cells {
		seen := map[int]bool{}
		for _, v := range list {
			if v.value > 0 && !seen[v.round] {
				sums[v.round] += math.Log(v.value)
				counts[v.round]++
				seen[v.round] = true
			}
		}
	}
	var rounds []int
	for round, n := range counts {
		if n == len(cells) {
			rounds = append(rounds, round)
		}
	}
	slices.Sort(rounds)
	var values []float64
	for _, round := range rounds {
		values = append(values, math.Exp(sums[round]/float64(len(cells))))
	}
	return values
}

func sameAxis(a, b matrix.Axis) bool {
	return a.Name == b.Name && slices.Equal(a.Values, b.Values) && slices.Equal(a.Labels, b.Labels)
}
