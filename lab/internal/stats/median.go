package stats

import (
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// Confidence is the coverage that the intervals of this program ask for.
const Confidence = 0.95

// An Interval is a median with the range in which the true median lies.
type Interval struct {
	Median   float64 `json:"median"`
	Lo       float64 `json:"lo"`
	Hi       float64 `json:"hi"`
	Coverage float64 `json:"coverage"` // probability that Lo..Hi covers the true median; below what was asked for when there are few values
	N        int     `json:"n"`
}

// Contains reports whether x lies within the interval, its ends included.
func (i Interval) Contains(x float64) bool { return i.Lo <= x && x <= i.Hi }

// Median returns the middle value, or the mean of the two middle ones. It
// panics when there are no values or one of them is not a number.
func Median(values []float64) float64 {
	return middle(sorted(values))
}

// MedianInterval returns the median and the narrowest symmetric pair of order
// statistics that covers the true median with at least the given confidence
// (0 to 1, exclusive). The coverage is exact for any continuous distribution: the number
// of values below the true median is binomial(n, 1/2).
//
// When there are too few values for the confidence, under six for 0.95, the
// interval is their whole range and Coverage says what that is worth: 0.9375 for five, 0.75 for
// three, 0 for one. It panics when there are no values or one of them is not a
// number.
func MedianInterval(values []float64, confidence float64) Interval {
	if !(confidence > 0 && confidence < 1) {
		panic(fmt.Sprintf("stats: confidence %v is not between 0 and 1", confidence))
	}
	s := sorted(values)
	n := len(s)
	// The interval from the k-th smallest to the k-th largest value misses
	// when fewer than k values fall on one side of the true median.
	k, coverage := 1, 1-2*binomialTail(n, 0)
	for next := 2; next <= (n+1)/2; next++ {
		c := 1 - 2*binomialTail(n, next-1)
		if c < confidence {
			break
		}
		k, coverage = next, c
	}
	return Interval{
		Median:   middle(s),
		Lo:       s[k-1],
		Hi:       s[n-k],
		Coverage: max(0, coverage),
		N:        n,
	}
}

// SignTest returns the two-sided probability that as uneven a split as the
// given one, or a more uneven one, comes from tossing a fair coin.
func SignTest(below, above int) float64 {
	if below < 0 || above < 0 {
		panic(fmt.Sprintf("stats: sign test of %d and %d", below, above))
	}
	return min(1, 2*binomialTail(below+above, min(below, above)))
}

func binomialTail(n, k int) float64 { return stats.BinomialDist{N: n, P: 0.5}.CDF(float64(k)) }

func sorted(values []float64) []float64 {
	if len(values) == 0 {
		panic("stats: no values")
	}
	for i, v := range values {
		if math.IsNaN(v) {
			panic(fmt.Sprintf("stats: value %d of %d is not a number", i, len(values)))
		}
	}
	return slices.Sorted(slices.Values(values))
}

func middle(s []float64) float64 {
	n := len(s)
	if n%2 == 1 {
		return s[n/2]
	}
	return (s[n/2-1] + s[n/2]) / 2
}
