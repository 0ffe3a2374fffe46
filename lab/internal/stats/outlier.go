package stats

import (
	"math"
	"slices"
)

// Outlier looks for one value of a later run that is away from the others of its run by
// more than the earlier run's values are from each other: a window in which something
// happened. more says that large values are looked for, and least the factor by which it
// has to be away from its run's median. It returns the place of the value that is
// farthest away, and whether it counts: it has to be four times as far as the earlier
// values scatter, and farther than any of them. Fewer than Fewest values in one
// of the runs show nothing.
func Outlier(earlier, later []float64, more bool, least float64) (at int, found bool) {
	if min(len(earlier), len(later)) < Fewest {
		return 0, false
	}
	was, is := deviations(earlier, more), deviations(later, more)
	at = slices.Index(is, slices.Max(is))
	spread := 0.0
	for _, d := range was {
		spread += d * d / float64(len(was))
	}
	// A run that varies by itself, more than the earlier one, has no single value
	// that stands out.
	own := make([]float64, len(is))
	for i, d := range is {
		own[i] = math.Abs(d)
	}
	const times, clearly, robust = 4, 1.15, 1.4826
	bound := max(math.Log(least), times*math.Sqrt(spread), clearly*slices.Max(was), times*robust*Median(own))
	return at, is[at] >= bound
}

// deviations are the logarithms of what values are of their median, upward for those
// that are looked for. Nothing at all is as far as can be.
func deviations(values []float64, more bool) []float64 {
	middle := Median(values)
	list := make([]float64, len(values))
	for i, v := range values {
		switch {
		case v == middle:
		case v <= 0 || middle <= 0:
			list[i] = math.Copysign(far, v-middle)
		default:
			list[i] = max(-far, min(far, math.Log(v/middle)))
		}
		if !more {
			list[i] = -list[i]
		}
	}
	return list
}

// far bounds the logarithm of the factor between a value and the middle.
const far = 20
