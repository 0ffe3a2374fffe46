package load

import "fmt"

// MaxSize is the longest payload that a request may have.
const MaxSize = 64 << 20

// Sizes are the lengths that requests are drawn from.
type Sizes struct {
	Min int `json:"min"`
	Max int `json:"max"`
	// Weights, where given, replace the range.
	Weights []Weight `json:"weights,omitempty"`
}

// A Weight is a length and how often it comes, in relation to the others.
type Weight struct {
	Bytes  int     `json:"bytes"`
	Weight float64 `json:"weight"`
}

// OneSize is always the same length.
func OneSize(n int) Sizes { return Sizes{Min: n, Max: n} }

// Check says what is wrong.
func (s Sizes) Check() error {
	if s.Min < 1 || s.Max < s.Min || s.Max > MaxSize {
		return fmt.Errorf("sizes of %d to %d bytes are not within 1 and %d", s.Min, s.Max, MaxSize)
	}
	return nil
}
