package matrix

import (
	"math"
	"slices"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/stats"
)

// values are those that count of a figure: of the valid runs, and of those in which the
// target was behind. Of the others the generator was the limit.
func (c *Cell) values(figure string) (values []float64) {
	for _, r := range c.Runs {
		if v, has := r.Figures[figure]; has && (r.Valid || r.Behind) {
			values = append(values, v)
		}
	}
	return values
}

// Median returns the median of a figure over the runs that count; ok that there is any.
func (c *Cell) Median(figure string) (value float64, ok bool) {
	values := c.values(figure)
	if len(values) == 0 {
		return 0, false
	}
	return stats.Median(values), true
}

// Limited reports whether there is no figure of a cell since the generator was the limit in
// its runs.
func (c *Cell) Limited() bool {
	limited := false
	for _, r := range c.Runs {
		if r.Valid || r.Behind {
			return false
		}
		limited = limited || r.Code == load.GeneratorFull || r.Code == load.GeneratorLate
	}
	return limited
}

// spread is the noise of values as Cell.Noise defines it; ok only with two.
func spread(values []float64) (noise float64, ok bool) {
	if len(values) < 2 {
		return 0, false
	}
	m := stats.Median(values)
	if !(m > 0) {
		return 0, false
	}
	s := slices.Clone(values)
	slices.Sort(s)
	if len(s) >= 5 {
		// One that is far off is outvoted by four others.
		if m-s[0] > s[len(s)-1]-m {
			s = s[1:]
		} else {
			s = s[:len(s)-1]
		}
	}
	noise = (s[len(s)-1] - s[0]) / 2 / m
	return noise, !math.IsInf(noise, 0)
}

// noise is the median of the noise of a figure over the cells of a layer, or of
// all with -1; 0 where none is known.
func (f *File) noise(layer int, figure string) float64 {
	var all []float64
	for i := range f.Cells {
		if n, ok := f.Cells[i].Noise[figure]; ok && (layer < 0 || f.Cells[i].Layer == layer) {
			all = append(all, n)
		}
	}
	if len(all) == 0 {
		return 0
	}
	return stats.Median(all)
}

// AnyValid reports whether there is a valid run.
func (f *File) AnyValid() bool {
	return slices.ContainsFunc(f.Cells, func(c Cell) bool {
		return slices.ContainsFunc(c.Runs, func(r Run) bool { return r.Valid })
	})
}
