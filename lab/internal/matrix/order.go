package matrix

import (
	"hash/fnv"
	"math/rand/v2"
)

// order returns the indexes of n cells in the order of a round, from 1. The
// result is always the same, so that a resumed grid is measured in the same order
// as one that was not interrupted.
//
// The cells are dealt into as many parts as there are rounds, and in each round
// the parts come in another order, so that each cell is measured once early, once
// late, and so on: a machine that becomes slower through a round does so to all
// alike. Within its part a cell has another place and other neighbours each time.
func order(seed uint64, grid string, n, rounds, round int) []int {
	parts := min(rounds, n)
	dealt := draw(seed, grid, 0).Perm(n)
	rng := draw(seed, grid, round)
	list := make([]int, 0, n)
	for i := range parts {
		part := (i + round - 1) % parts
		from := len(list)
		list = append(list, dealt[part*n/parts:(part+1)*n/parts]...)
		now := list[from:]
		rng.Shuffle(len(now), func(i, j int) { now[i], now[j] = now[j], now[i] })
	}
	return list
}

// draw is the source of what is random in a round.
func draw(seed uint64, grid string, round int) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(grid))
	return rand.New(rand.NewPCG(seed, h.Sum64()+uint64(round)))
}
