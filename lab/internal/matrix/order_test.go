package matrix

import (
	"slices"
	"testing"
)

func TestAnOrderHasEveryCellOnceAndIsTheSameAgain(t *testing.T) {
	for _, n := range []int{1, 2, 5, 48, 144} {
		for rounds := 1; rounds <= 5; rounds++ {
			for round := 1; round <= rounds+2; round++ {
				list := order(7, "buffer", n, rounds, round)
				if !slices.Equal(list, order(7, "buffer", n, rounds, round)) {
					t.Fatalf("%d cells, round %d of %d: another order", n, round, rounds)
				}
				slices.Sort(list)
				for i, v := range list {
					if i != v || len(list) != n {
						t.Fatalf("%d cells, round %d of %d: %v", n, round, rounds, list)
					}
				}
			}
		}
	}
	if slices.Equal(order(1, "buffer", 48, 3, 1), order(2, "buffer", 48, 3, 1)) || slices.Equal(order(1, "buffer", 48, 3, 1), order(1, "size-conns", 48, 3, 1)) {
		t.Error("another seed or grid has the same order")
	}
}

// Each cell stands once in each part of a round, so that none is always early, and
// over the seeds it stands everywhere.
func TestAnOrderIsFair(t *testing.T) {
	const n, rounds, seeds = 24, 3, 2000
	var at [n][n]int // cell, place
	next := map[[2]int]int{}
	for seed := range uint64(seeds) {
		thirds := [n][rounds]int{}
		for round := 1; round <= rounds; round++ {
			list := order(seed, "g", n, rounds, round)
			for place, cell := range list {
				at[cell][place]++
				thirds[cell][place*rounds/n]++
				if place > 0 {
					next[[2]int{list[place-1], cell}]++
				}
			}
		}
		for cell, parts := range thirds {
			if parts != [rounds]int{1, 1, 1} {
				t.Fatalf("seed %d: cell %d stands %v times in the thirds", seed, cell, parts)
			}
		}
	}
	const mean = seeds * rounds / n
	for cell := range at {
		for place, times := range at[cell] {
			if times < mean*7/10 || times > mean*13/10 {
				t.Errorf("cell %d stands %d times in place %d, of %d", cell, times, place, mean)
			}
		}
	}
	for pair, times := range next {
		if expected := seeds * rounds * (n - 1) / (n * (n - 1)); times < expected/2 || times > expected*2 {
			t.Errorf("%v follow each other %d times, of %d", pair, times, expected)
		}
	}
}
