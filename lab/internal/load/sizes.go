package load

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/units"
)

// MaxSize is the longest payload that a request may have.
const MaxSize = 64 << 20

// Sizes are the lengths that requests are drawn from: all from Min to Max are
// equally frequent.
type Sizes struct {
	Min int `json:"min"`
	Max int `json:"max"`
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

// Mean is the mean length in bytes.
func (s Sizes) Mean() float64 { return (float64(s.Min) + float64(s.Max)) / 2 }

// String is what ParseSizes reads.
func (s Sizes) String() string {
	text := func(n int) string {
		return strings.ReplaceAll(strings.TrimSuffix(units.Exact(int64(n)), " B"), " ", "")
	}
	if s.Min == s.Max {
		return text(s.Min)
	}
	return text(s.Min) + ".." + text(s.Max)
}

// ParseSizes parses a length such as "128" or "4KiB", or a range such as "64..1KiB", its ends included.
func ParseSizes(text string) (Sizes, error) {
	low, high, ranged := strings.Cut(text, "..")
	if !ranged {
		high = low
	}
	from, err := units.ParseBytes(strings.TrimSpace(low))
	if err != nil {
		return Sizes{}, err
	}
	to, err := units.ParseBytes(strings.TrimSpace(high))
	if err != nil {
		return Sizes{}, err
	}
	s := Sizes{int(min(from, MaxSize+1)), int(min(to, MaxSize+1))}
	return s, s.Check()
}

// Draw returns a function that draws lengths, the same ones for the same seed.
// It costs some nanoseconds, and is for one goroutine. s has passed Check.
func (s Sizes) Draw(seed uint64) func() int {
	if s.Min == s.Max {
		return func() int { return s.Min }
	}
	random, n := rand.NewPCG(seed, (seed+1)*0x9e3779b97f4a7c15), uint64(s.Max-s.Min+1)
	return func() int {
		// The high half of the product is uniform within n, but for a share of n/2^64.
		i, _ := bits.Mul64(random.Uint64(), n)
		return s.Min + int(i)
	}
}
