package stats

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/aclements/go-moremath/stats"
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

// AtLeast is the default relative difference below which two runs count as equal,
// however certain the difference is. Runs are processes of their own:
// where the system put their memory, and on which processor they began, moves ratios
// within a whole run by up to 17 % in the recorded noise, which no number of rounds
// can show. With 0.2 all of nine figures of two files come out equal in 96 of 100
// tries, with 0.15 in 93; with 0.3 and the chance below in 99. See testdata.
const AtLeast = 0.30

// runsSignificance is the chance of a false alarm that all comparisons of two runs may
// have together.
const runsSignificance = 0.005

// exactCells bounds the products of sample sizes for which the distribution of
// the rank sum is counted rather than approximated.
const exactCells = 900

// CompareRuns judges values of a later run against those of an earlier one,
// which have no rounds in common. The ratio is the median of all quotients of a
// later and an earlier value (Hodges and Lehmann, 1963), its interval goes by the ranks of
// those quotients and by the distribution of the rank sum (Mann and Whitney, 1947): it
// assumes nothing about the shape of the noise, but that it is the same in both
// runs up to a factor.
//
// among is how many comparisons are made at once, in a whole file say: the
// chance of a false alarm in any of them is to stay at one in 200. The ratio counts as
// different from 1 when it is at least atLeast away from it, on a logarithmic
// scale, and the interval that misses with a chance of one in 200 divided by among
// leaves 1 outside. Where there are too few values for such an interval, the ratio
// must be twice atLeast away, and 1 farther from the range of all quotients than
// half its width, which grows with the logarithm of among. Fewer than three values
// in one of them show nothing.
//
// With zeros on both sides there is no difference; on one, no ratio but a
// difference. It panics when one has no values, or a value that is negative or no
// number, and when among is less than one.
func CompareRuns(earlier, later []float64, atLeast float64, among int) Comparison {
	if among < 1 {
		panic(fmt.Sprintf("stats: a comparison among %d", among))
	}
	for _, values := range [][]float64{earlier, later} {
		if s := sorted(values); s[0] < 0 || math.IsInf(s[len(s)-1], 0) {
			panic(fmt.Sprintf("stats: comparing runs with the values %v to %v", s[0], s[len(s)-1]))
		}
	}
	n, m := len(earlier), len(later)
	q, ok := quotients(earlier, later)
	if !ok {
		return withZeros(earlier, later)
	}
	lo, hi, coverage := rankInterval(q, n, m, 1-Confidence)
	c := Comparison{Interval: Interval{Median: middle(q), Lo: lo, Hi: hi, Coverage: coverage, N: min(n, m)}, Verdict: Same}
	away := math.Abs(math.Log(c.Median))
	if c.N < 3 || c.Contains(1) || away < math.Log1p(atLeast) {
		return c
	}
	miss := runsSignificance / float64(among)
	lo, hi, sure := rankInterval(q, n, m, miss)
	different := lo > 1 || hi < 1
	if sure < 1-miss {
		c.Lo, c.Hi, c.Coverage = lo, hi, sure // that of all quotients
		different = gapInWidths(c.Interval) > 0.5*(1+math.Log(float64(among))) && away >= 2*math.Log1p(atLeast)
	}
	return c.decided(different)
}

// quotients returns all of them in order, or false when a value is zero.
func quotients(earlier, later []float64) ([]float64, bool) {
	list := make([]float64, 0, len(earlier)*len(later))
	for _, a := range earlier {
		for _, b := range later {
			if a == 0 || b == 0 {
				return nil, false
			}
			// A quotient of extremes may leave the range of a number.
			list = append(list, min(max(b/a, math.SmallestNonzeroFloat64), math.MaxFloat64))
		}
	}
	slices.Sort(list)
	return list, true
}

// withZeros compares medians where a quotient has no meaning.
func withZeros(earlier, later []float64) Comparison {
	a, b := Median(earlier), Median(later)
	c := Comparison{Interval: Interval{Median: 1, Lo: 0, Hi: math.MaxFloat64, N: min(len(earlier), len(later))}, Verdict: Same}
	switch {
	case a > 0:
		c.Median = b / a
	case b > 0:
		c.Median = math.MaxFloat64
	}
	switch {
	case c.N < 3:
	case slices.Max(later) == 0 && slices.Min(earlier) > 0:
		c.Verdict = Less
	case slices.Max(earlier) == 0 && slices.Min(later) > 0:
		c.Verdict = More
	}
	return c
}

// rankInterval returns the narrowest symmetric pair of quotients that covers the
// true ratio with a probability of at least 1 - miss, or all of them when
// there are too few.
func rankInterval(q []float64, n, m int, miss float64) (lo, hi, coverage float64) {
	tail := rankTails(n, m)
	k := 1
	for k < len(tail) && 2*tail[k] <= miss && k < (len(q)+1)/2 {
		k++
	}
	return q[k-1], q[len(q)-k], max(0, 1-2*tail[k-1])
}

var tails sync.Map // of [2]int to []float64

// rankTails returns the probabilities that the rank sum statistic of samples of
// n and m from one distribution is at most 0, 1, 2 and so on, up to one half.
// Callers do not change it.
func rankTails(n, m int) []float64 {
	key := [2]int{min(n, m), max(n, m)}
	if known, ok := tails.Load(key); ok {
		return known.([]float64)
	}
	below := stats.UDist{N1: n, N2: m}.CDF
	if n*m > exactCells {
		size := float64(n) * float64(m)
		normal := stats.NormalDist{Mu: size / 2, Sigma: math.Sqrt(size * float64(n+m+1) / 12)}
		below = func(u float64) float64 { return normal.CDF(u + 0.5) } // half a step of correction
	}
	list := []float64{below(0)}
	for u := 1; u <= n*m; u++ {
		p := below(float64(u))
		if p > 0.5+1e-9 {
			break
		}
		list = append(list, p)
	}
	tails.Store(key, list)
	return list
}
