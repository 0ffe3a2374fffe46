package op

import "testing"

// round fills a batch with n results, hands it out and takes it back.
func (b *Completions) round(n int) int {
	for range n {
		b.Add().Size = 1
	}
	results := b.Take()
	b.Recycle()
	return len(results)
}

// A watcher whose rounds have more results than usual makes no new slice for each.
func TestLargeBatchesAreUsedAgain(t *testing.T) {
	for _, n := range []int{mostKept, mostKept + 1, 5 * mostKept} {
		var b Completions
		for range 3 {
			b.round(n)
		}
		if allocs := testing.AllocsPerRun(10, func() {
			if got := b.round(n); got != n {
				t.Fatalf("%d results of %d", got, n)
			}
		}); allocs > 0 {
			t.Errorf("%d results: %v allocations for each batch", n, allocs)
		}
	}
}

// What a storm needed is let go when it is over.
func TestTheBatchOfAStormIsLetGo(t *testing.T) {
	var b Completions
	b.round(20 * mostKept)
	for range 2 * mostUnused {
		b.round(10)
	}
	for _, kept := range []*batch{b.filling, b.spare, b.out.Value()} {
		if kept != nil && cap(kept.results) > mostKept {
			t.Errorf("a slice for %d results is kept", cap(kept.results))
		}
	}
}
