package matrix

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/stats"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// What the rule of the knees allows. Where the noise is more, it counts: two
// cells differ only by more than noiseTimes the median noise of their layer, so
// that what is no difference goes to the smaller.
const (
	kneeLoss = 0.05 // of the main figure, against the best
	kneeTail = 0.10 // of P99, over the lowest
	// noiseTimes: of 30 equal cells with three runs each, whose figures differ by
	// chance alone, the first is called as good as the best in about 19 of 20
	// grids, simulated with noise of 3 % and 6 %; with 3 times it is 16 of 20.
	noiseTimes = 3.5
	// noiseLimit is where a knee would say more of the machine than of the target.
	noiseLimit = 0.4
)

// tolerance is by how much a figure of two cells of a layer may differ and be
// called the same.
func (f *File) tolerance(layer int, figure string, least float64) float64 {
	return max(least, noiseTimes*f.noise(layer, figure))
}

// HasKnees reports whether a grid of that name has knees.
func HasKnees(grid string) bool {
	k, err := lookup(grid)
	return err == nil && k.knees
}

// TooNoisy reports whether a layer is too noisy to have a knee.
func (f *File) TooNoisy(layer int) (noise float64, is bool) {
	return f.noise(layer, f.Figures[0].Name), f.tolerance(layer, f.Figures[0].Name, 0) > noiseLimit
}

// findKnees finds the balance point of each layer and row: the fewest of the columns that are as good as
// any.
func (f *File) findKnees() (knees []Knee) {
	for layer := range f.Layers {
		if _, noisy := f.TooNoisy(layer); noisy {
			continue
		}
		for row := range f.Rows.Values {
			if found, ok := f.knee(layer, row); ok {
				knees = append(knees, found)
			}
		}
	}
	return knees
}

func (f *File) knee(layer, row int) (Knee, bool) {
	figure := f.Figures[0].Name
	var known []*Cell
	best, limited := 0.0, false
	value := map[*Cell]float64{}
	for i := range f.Cells {
		c := &f.Cells[i]
		if c.Layer != layer || c.Row != row {
			continue
		}
		v, ok := c.Median(figure)
		if limited = limited || c.Limited(); ok {
			known, value[c], best = append(known, c), v, max(best, v)
		}
	}
	if len(known) == 0 {
		return Knee{}, false
	}
	slices.SortFunc(known, func(a, b *Cell) int { return cmp.Compare(a.Column, b.Column) })
	last := known[len(known)-1]
	loss, tail := f.tolerance(layer, figure, kneeLoss), f.tolerance(layer, P99, kneeTail)
	known = slices.DeleteFunc(known, func(c *Cell) bool { return value[c] < best*(1-loss) })
	chosen := known[0]
	rule := fmt.Sprintf("the fewest %s whose %s is within %s of the best", f.Columns.Name, f.Figures[0].Title, units.Percent(loss))
	if tail > noiseLimit {
		rule += fmt.Sprintf("; the P99 has no say, its noise is %s", units.Percent(tail/noiseTimes))
	} else {
		rule += fmt.Sprintf(", and whose P99 is at most %s over the lowest of those", units.Percent(tail))
		lowest := slices.MinFunc(known, func(a, b *Cell) int { return cmp.Compare(a.tail(), b.tail()) }).tail()
		chosen = known[slices.IndexFunc(known, func(c *Cell) bool { return c.tail() <= lowest*(1+tail) })]
	}
	found := Knee{
		Layer: layer, Along: f.Columns.Name, Row: row, Column: chosen.Column, Figure: figure, Rule: rule,
		Label: f.Columns.Labels[chosen.Column] + " at " + f.Rows.Labels[row],
	}
	switch {
	case limited:
		found.Open, found.Note = true, "the generator was the limit beyond"
	case chosen == last:
		found.Open, found.Note = true, "the grid ends there"
	}
	return found, true
}

// tail is a cell's P99; one that is not known is taken for very long.
func (c *Cell) tail() float64 {
	if v, ok := c.Median(P99); ok {
		return v
	}
	return 1e18
}

// Derive computes what follows from the runs: noise and knees.
func (f *File) Derive() {
	for i := range f.Cells {
		c := &f.Cells[i]
		c.Noise = nil
		for _, g := range f.Figures {
			if noise, ok := spread(c.values(g.Name)); ok {
				if c.Noise == nil {
					c.Noise = make(map[string]float64)
				}
				c.Noise[g.Name] = noise
			}
		}
	}
	f.Noise = f.noise(-1, f.NoiseOf)
	if f.Knees = nil; HasKnees(f.Name) {
		f.Knees = f.findKnees()
	}
}

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
	s := slices.Sorted(slices.Values(values))
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
