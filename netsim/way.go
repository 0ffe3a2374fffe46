package netsim

import "math/rand/v2"

// way is the state of one direction of a Conn. It belongs to the goroutine that
// holds reading or writing.
type way struct {
	Direction
	sizes, chance *rand.Rand
	done          int64 // bytes
}

// Purposes of random numbers, for newRand. A Table has 0.
const (
	purposeInSizes = 1 + iota
	purposeOutSizes
	purposeInChance
	purposeOutChance
	purposeJitter
)

// unlucky draws whether the connection is reset now.
func (w *way) unlucky() bool {
	return w.ResetChance > 0 && w.chance.Float64() < w.ResetChance
}

// next returns how many of n bytes may go through in one piece.
func (w *way) next(n int) int {
	if w.Sizes.Max > 0 {
		n = min(n, w.Sizes.draw(w.sizes))
	}
	if w.ResetAfter > 0 {
		n = int(min(int64(n), w.ResetAfter-w.done))
	}
	return n
}

// count enters n bytes that went through, and says whether they were the last.
func (w *way) count(n int) (last bool) {
	w.done += int64(n)
	return w.ResetAfter > 0 && w.done >= w.ResetAfter
}
