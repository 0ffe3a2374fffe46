package load

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// Draw returns a function that draws lengths, the same ones for the same seed.
// It costs some nanoseconds, and is for one goroutine.
//
// A histogram is drawn by the alias method: one random number and one
// look into a table of as many slots as there are lengths. A table of prepared draws would
// be a little faster still. But it cannot hold a length that is rarer than one in the size
// of the table, and histograms exist for the rare long ones.
//
// s has passed Check.
func (s Sizes) Draw(seed uint64) func() int {
	if s.Min == s.Max {
		return func() int { return s.Min }
	}
	random := rand.NewPCG(scatter(seed), scatter(seed+1))
	if len(s.Weights) == 0 {
		least, n := s.Min, uint64(s.Max-s.Min+1)
		return func() int {
			// The high half of the product is uniform within n, but for a share
			// of n/2^64.
			i, _ := bits.Mul64(random.Uint64(), n)
			return least + int(i)
		}
	}
	slots := aliases(s.Weights)
	n := uint64(len(slots))
	return func() int {
		// The high half chooses the slot, the low half one of its two lengths.
		i, rest := bits.Mul64(random.Uint64(), n)
		if rest < slots[i].below {
			return int(slots[i].first)
		}
		return int(slots[i].second)
	}
}

// scatter turns consecutive seeds, such as those of connections, into unrelated
// ones: the finalizer of SplitMix64 (Steele, Lea and Flood,
// "Fast splittable pseudorandom number generators", 2014).
func scatter(seed uint64) uint64 {
	seed += 0x9e3779b97f4a7c15
	seed = (seed ^ seed>>30) * 0xbf58476d1ce4e5b9
	seed = (seed ^ seed>>27) * 0x94d049bb133111eb
	return seed ^ seed>>31
}

// A slot is one of n equally likely choices between two lengths.
type slot struct {
	below         uint64 // the first for numbers below it, of 2^64
	first, second int32  // lengths, at most MaxSize
}

// aliases builds the table of the alias method (Vose, "A linear algorithm for
// generating random numbers with a given distribution", 1991).
func aliases(weights []Weight) []slot {
	n := len(weights)
	sum := 0.0
	for _, w := range weights {
		sum += w.Weight
	}
	share := make([]float64, n) // 1 is the share of a slot
	var small, large []int
	for i, w := range weights {
		share[i] = w.Weight / sum * float64(n)
		if share[i] < 1 {
			small = append(small, i)
		} else {
			large = append(large, i)
		}
	}
	slots := make([]slot, n)
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		slots[s] = slot{threshold(share[s]), int32(weights[s].Bytes), int32(weights[l].Bytes)}
		share[l] -= 1 - share[s]
		if share[l] < 1 {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	// What is left is full but for rounding, which may leave even one that weighs
	// next to nothing: the heaviest takes the rest of its slot.
	heaviest := 0
	for i, w := range weights {
		if w.Weight > weights[heaviest].Weight {
			heaviest = i
		}
	}
	for _, rest := range [][]int{small, large} {
		for _, i := range rest {
			slots[i] = slot{threshold(share[i]), int32(weights[i].Bytes), int32(weights[heaviest].Bytes)}
		}
	}
	return slots
}

// threshold is a share, 0 to 1, of 2^64.
func threshold(share float64) uint64 {
	if share >= 1 {
		return math.MaxUint64
	}
	return uint64(max(0, share) * (1 << 63) * 2)
}
