package document

import (
	"math"
	"strconv"
	"strings"
)

// A Scale maps values to the part of an axis that lies before them, 0 to 1.
type Scale struct {
	lo, hi float64
	log    bool
	step   float64 // how often a unit goes into the next
}

// FromZero is linear from 0 to a round value that is not below hi. step is how
// often a unit goes into the next: 1000, 1024 for memory, 60 for time.
func FromZero(hi, step float64) Scale {
	if !(hi > 0) {
		hi = 1
	}
	t := tickStep(hi, step)
	return Scale{0, t * math.Ceil(hi/t-1e-9), false, step}
}

// Until is linear from 0 to hi.
func Until(hi, step float64) Scale { return Scale{0, hi, false, step} }

// Decades is logarithmic and reaches a little beyond what it shows. It spans at
// least a factor of four, so that noise does not fill the picture.
func Decades(lo, hi float64) Scale {
	if !(lo > 0) || !(hi >= lo) {
		return Scale{1, 10, true, 1000}
	}
	lo, hi = lo/1.08, hi*1.08
	if hi/lo < 4 {
		middle := math.Sqrt(lo * hi)
		lo, hi = middle/2, middle*2
	}
	return Scale{lo, hi, true, 1000}
}

// tickStep is a round value of which three to six fit.
func tickStep(hi, step float64) float64 {
	unit := 1.0
	for hi/unit >= step {
		unit *= step
	}
	for hi/unit < 1 {
		unit /= step
	}
	power := math.Pow(10, math.Floor(math.Log10(hi/unit)))
	for _, m := range []float64{0.2, 0.25, 0.5, 1, 2} {
		if hi/unit/power/m <= 5 {
			return m * power * unit
		}
	}
	return 2 * power * unit
}

// at is where a value stands; what lies outside stands at the end.
func (s Scale) at(v float64) float64 {
	part := 0.0
	switch {
	case s.log && v > 0:
		part = math.Log(v/s.lo) / math.Log(s.hi/s.lo)
	case !s.log:
		part = (v - s.lo) / (s.hi - s.lo)
	}
	if math.IsNaN(part) {
		return 0
	}
	return min(1, max(0, part))
}

// ticks are round values within the scale, at most twelve.
func (s Scale) ticks() []float64 {
	var list []float64
	if !s.log {
		t := tickStep(s.hi, s.step)
		for i := 0; float64(i)*t <= s.hi*1.0001 && i < 12; i++ {
			list = append(list, float64(i)*t)
		}
		return list
	}
	first, last := math.Floor(math.Log10(s.lo)), math.Ceil(math.Log10(s.hi))
	for _, mantissas := range [][]float64{{1, 1.5, 2, 3, 4, 5, 6, 8}, {1, 2, 3, 5}, {1, 2, 5}, {1, 3}, {1}} {
		list = list[:0]
		for p := first; p <= last && len(list) < 64; p++ {
			for _, m := range mantissas {
				if v := m * math.Pow(10, p); v >= s.lo && v <= s.hi {
					list = append(list, v)
				}
			}
		}
		if len(list) <= 8 {
			return list
		}
	}
	every := (len(list) + 7) / 8
	for i := range len(list) / every {
		list[i] = list[i*every]
	}
	return list[:len(list)/every]
}

// Nines is how many nines a share has, so that on an axis of it each further nine
// takes as much room: it is the tail that people feel.
func Nines(share float64) float64 { return -math.Log10(max(1-share, 1e-12)) }

// PercentText writes a share without needless zeros: "99.9 %".
func PercentText(share float64) string {
	text := strconv.FormatFloat(share*100, 'f', 4, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + " %"
}
