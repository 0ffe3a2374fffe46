package matrix

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/lab/internal/units"
)

// What the rules of the knees allow. Where the noise is more, it counts: two
// cells differ only by more than noiseTimes the median noise of their layer, so
// that what is no difference goes to the smaller.
const (
	bufferLoss  = 0.05 // of IOPS, against the best
	bufferTail  = 0.10 // of P99, over the lowest
	crowdGrowth = 0.10 // of throughput, that more connections have to bring
	crowdTail   = 2    // times the P99 is too much for less
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
	noise, _ := f.noise(layer, figure)
	return max(least, noiseTimes*noise)
}

// HasKnees reports whether a grid of that name has knees.
func HasKnees(grid string) bool {
	k, err := lookup(grid)
	return err == nil && k.knees != nil
}

// TooNoisy reports whether a layer is too noisy to have a knee.
func (f *File) TooNoisy(layer int) (noise float64, is bool) {
	noise, _ = f.noise(layer, f.Figures[0].Name)
	return noise, f.tolerance(layer, f.Figures[0].Name, 0) > noiseLimit
}

// noteEnds is the note of a knee that is at the end of its axis.
const noteEnds = "the grid ends there"

// because says where a tolerance comes from, if not from the rule.
func because(tolerance, least float64) string {
	if tolerance <= least {
		return ""
	}
	return fmt.Sprintf(" (%v times the median noise)", noiseTimes)
}

// bufferKnees finds, for each layer, the smallest read and write buffers that are
// as good as any.
func bufferKnees(f *File) []Knee {
	var knees []Knee
	for layer := range f.Layers {
		if k, ok := f.bufferKnee(layer); ok {
			knees = append(knees, k)
		}
	}
	return knees
}

// candidate is a cell whose figures are known.
type candidate struct {
	*Cell
	sum, iops float64
	floor     bool
}

func (f *File) bufferKnee(layer int) (Knee, bool) {
	if _, noisy := f.TooNoisy(layer); noisy {
		return Knee{}, false
	}
	var all []candidate
	var best candidate
	for i := range f.Cells {
		c := &f.Cells[i]
		iops, floor, ok := c.Median(IOPS)
		if c.Layer != layer || !ok {
			continue
		}
		k := candidate{c, f.Rows.Values[c.Row] + f.Columns.Values[c.Column], iops, floor}
		all = append(all, k)
		if best.Cell == nil || k.iops > best.iops {
			best = k
		}
	}
	if best.Cell == nil || !(best.iops > 0) {
		return Knee{}, false
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.sum, b.sum), cmp.Compare(a.Row, b.Row))
	})
	loss := f.tolerance(layer, IOPS, bufferLoss)
	all = slices.DeleteFunc(all, func(c candidate) bool { return c.iops < best.iops*(1-loss) })
	rule := fmt.Sprintf("the smallest buffers, reading and writing together, whose IOPS are within %s of the best%s", units.Percent(loss), because(loss, bufferLoss))

	tail := f.tolerance(layer, P99, bufferTail)
	lowest, known := 0.0, false
	for _, c := range all {
		if v, _, ok := c.Median(P99); ok && (!known || v < lowest) {
			lowest, known = v, true
		}
	}
	chosen := all[0]
	note := ""
	switch {
	case !known:
		note = "no P99 is known, which would count too"
	case tail > noiseLimit:
		rule += fmt.Sprintf("; the P99 has no say, its noise is %s", units.Percent(tail/noiseTimes))
	default:
		i := slices.IndexFunc(all, func(c candidate) bool {
			v, _, ok := c.Median(P99)
			return ok && v <= lowest*(1+tail)
		})
		chosen = all[i]
		rule += fmt.Sprintf(", and whose P99 is at most %s over the lowest of those%s", units.Percent(tail), because(tail, bufferTail))
	}
	k := Knee{
		Layer: layer, Along: "buffers", Row: &chosen.Row, Column: chosen.Column, Value: chosen.sum,
		Label: f.Rows.Labels[chosen.Row] + " for reading, " + f.Columns.Labels[chosen.Column] + " for writing",
		Rule:  rule, Figure: IOPS, Note: note,
	}
	if best.floor {
		k.Open, k.Note = true, "the generator was the limit at the best: larger ones may still pay"
	}
	return k, true
}

// crowdKnees finds, for each layer and size, the most connections that still pay.
func crowdKnees(f *File) []Knee {
	var knees []Knee
	for layer := range f.Layers {
		if _, noisy := f.TooNoisy(layer); noisy {
			continue
		}
		for row := range f.Rows.Values {
			if k, ok := f.crowdKnee(layer, row); ok {
				knees = append(knees, k)
			}
		}
	}
	return knees
}

func (f *File) crowdKnee(layer, row int) (Knee, bool) {
	growth := f.tolerance(layer, Throughput, crowdGrowth)
	k := Knee{
		Layer: layer, Along: f.Columns.Name, Row: &row, Figure: Throughput, Open: true, Note: noteEnds,
		Rule: fmt.Sprintf("the most %s before the P99 more than doubles while throughput grows by less than %s%s", f.Columns.Name, units.Percent(growth), because(growth, crowdGrowth)),
	}
	var rate, tail float64
	for column := range f.Columns.Values {
		c := f.cell(layer, row, column)
		if c == nil {
			break
		}
		nextRate, _, ok := c.Median(Throughput)
		nextTail, _, known := c.Median(P99)
		if !ok || !known {
			if column == 0 {
				return Knee{}, false
			}
			k.Note = "the generator was the limit beyond"
			break
		}
		if column > 0 && nextTail > crowdTail*tail && nextRate < rate*(1+growth) {
			k.Open, k.Note = false, ""
			break
		}
		rate, tail = nextRate, nextTail
		k.Column, k.Value = column, f.Columns.Values[column]
		k.Label = f.Columns.Labels[column] + " at " + f.Rows.Labels[row]
	}
	return k, k.Label != ""
}
