package load

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// MaxSize is the longest payload that a request may have.
const MaxSize = 64 << 20

// MaxWeights is how many lengths a histogram may have.
const MaxWeights = 4096

// Sizes are the lengths that requests are drawn from: all from Min to Max are
// equally frequent, or come as the Weights say.
type Sizes struct {
	Min int `json:"min"`
	Max int `json:"max"`
	// Weights, where given, replace the range; Min and Max are the least and the
	// greatest length among them, see Weighted.
	Weights []Weight `json:"weights,omitempty"`
}

// A Weight is a length and how often it comes, in relation to the others.
type Weight struct {
	Bytes  int     `json:"bytes"`
	Weight float64 `json:"weight"`
}

// OneSize is always the same length.
func OneSize(n int) Sizes { return Sizes{Min: n, Max: n} }

// Weighted are lengths with how often each comes. It keeps the slice.
func Weighted(weights []Weight) Sizes {
	s := Sizes{Weights: weights}
	for i, w := range weights {
		if i == 0 {
			s.Min, s.Max = w.Bytes, w.Bytes
		}
		s.Min, s.Max = min(s.Min, w.Bytes), max(s.Max, w.Bytes)
	}
	return s
}

// Check says what is wrong.
func (s Sizes) Check() error {
	if s.Min < 1 || s.Max < s.Min || s.Max > MaxSize {
		return fmt.Errorf("sizes of %d to %d bytes are not within 1 and %d", s.Min, s.Max, MaxSize)
	}
	if len(s.Weights) == 0 {
		return nil
	}
	if len(s.Weights) > MaxWeights {
		return fmt.Errorf("a histogram of %d sizes has more than %d", len(s.Weights), MaxWeights)
	}
	sum := 0.0
	for _, w := range s.Weights {
		if w.Bytes < s.Min || w.Bytes > s.Max {
			return fmt.Errorf("a size of %d bytes in a histogram from %d to %d", w.Bytes, s.Min, s.Max)
		}
		if !(w.Weight >= 0) || math.IsInf(w.Weight, 0) {
			return fmt.Errorf("a weight of %v for %d bytes is none", w.Weight, w.Bytes)
		}
		sum += w.Weight
	}
	if !(sum > 0) || math.IsInf(sum, 0) {
		return fmt.Errorf("weights of %v together are none", sum)
	}
	return nil
}

// Mean is the mean length in bytes.
func (s Sizes) Mean() float64 {
	if len(s.Weights) == 0 {
		return (float64(s.Min) + float64(s.Max)) / 2
	}
	// Divided first: weights may be as large as they like.
	sum, mean := 0.0, 0.0
	for _, w := range s.Weights {
		sum += w.Weight
	}
	for _, w := range s.Weights {
		mean += float64(w.Bytes) * (w.Weight / sum)
	}
	return mean
}

// String is what ParseSizes reads, except for a histogram, which it describes.
func (s Sizes) String() string {
	switch {
	case len(s.Weights) > 0 && s.Min != s.Max:
		return fmt.Sprintf("histogram of %d sizes, %s..%s", len(s.Weights), sizeText(s.Min), sizeText(s.Max))
	case s.Min == s.Max:
		return sizeText(s.Min)
	}
	return sizeText(s.Min) + ".." + sizeText(s.Max)
}

// sizeText writes whole MiB and KiB as such.
func sizeText(n int) string {
	for _, u := range slices.Backward(sizeUnits) {
		if u.bytes > 1 && u.bytes&(u.bytes-1) == 0 && n >= u.bytes && n%u.bytes == 0 {
			return strconv.Itoa(n/u.bytes) + u.name
		}
	}
	return strconv.Itoa(n)
}
