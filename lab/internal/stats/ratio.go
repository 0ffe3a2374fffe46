package stats

import (
	"fmt"
	"math"
)

const (
	// significance is the chance of a false alarm that a single comparison may
	// have. A table holds dozens of them, so that one in twenty would put a false one
	// into every report.
	significance = 0.02
	// negligible is the relative difference below which two variants are
	// called equal however sure it is: two copies of the same code that the linker and the
	// allocator placed elsewhere differ by as much.
	negligible = 0.01
	// Fewest is how many rounds there must be for anything to be judged.
	Fewest = 6
	// signFewest is the least number of values with which the sign test can reach
	// significance at all: 2 * 2^-7 is 0.0156.
	signFewest = 7
)

// A Verdict is what a comparison came to.
type Verdict string

const (
	Same      Verdict = "~" // no difference that these values could show
	Less      Verdict = "less"
	More      Verdict = "more"
	Undecided Verdict = "undecided" // there are too few rounds
)

// A Comparison is the outcome of setting one variant against another.
type Comparison struct {
	Interval
	Verdict Verdict `json:"verdict"`
}

// Ratios divides the values of a variant by those of another, round by round:
// what slowed a whole round down cancels. It returns nil when a
// divisor is zero or a value is not finite, since there is no ratio then. It
// panics when the two do not have as many rounds.
func Ratios(of, to []float64) []float64 {
	if len(of) != len(to) {
		panic(fmt.Sprintf("stats: ratios of %d rounds to %d", len(of), len(to)))
	}
	ratios := make([]float64, len(of))
	for i := range of {
		r := of[i] / to[i]
		if math.IsNaN(r) || math.IsInf(r, 0) {
			return nil
		}
		ratios[i] = r
	}
	return ratios
}

// Compare judges ratios that were taken within rounds. They count as
// different from 1 when the interval of their median leaves 1 outside, the median is at least a
// hundredth away from 1, and one of these holds:
//   - the sign test gives so uneven a split a chance of at most 0.02: of two
//     identical variants fewer than one in fifty is called different;
//   - 1 is farther from the interval than half its width, on a logarithmic
//     scale. That is how a large difference shows although a round or two were ruined.
//
// Six ratios cannot pass the sign test, and their interval is their whole range: 1
// must be farther from it than its width. Fewer are Undecided. It panics when there
// are no ratios.
func Compare(ratios []float64) Comparison {
	c := Comparison{MedianInterval(ratios, Confidence), Same}
	if c.N < Fewest {
		c.Verdict = Undecided
		return c
	}
	if c.Contains(1) || math.Abs(c.Median-1) < negligible {
		return c
	}
	gap := gapInWidths(c.Interval)
	different := gap > 1
	if c.N >= signFewest {
		different = gap > 0.5 || SignTest(split(ratios)) <= significance
	}
	return c.decided(different)
}

func (c Comparison) decided(different bool) Comparison {
	switch {
	case !different:
	case c.Median < 1:
		c.Verdict = Less
	default:
		c.Verdict = More
	}
	return c
}

// gapInWidths is how far 1 is from an interval that does not contain it, in
// widths of the interval, on a logarithmic scale.
func gapInWidths(i Interval) float64 {
	if i.Hi <= 0 {
		return math.Inf(1) // nothing at all against something, in every round
	}
	lo, hi := math.Log(i.Lo), math.Log(i.Hi)
	return max(lo, -hi) / (hi - lo)
}

func split(ratios []float64) (below, above int) {
	for _, r := range ratios {
		switch {
		case r < 1:
			below++
		case r > 1:
			above++
		}
	}
	return below, above
}
