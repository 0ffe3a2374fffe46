package load

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// chiSquare returns the chi-square statistic of the drawn sizes against the expected
// shares, with len(shares)-1 degrees of freedom.
func chiSquare(t *testing.T, s Sizes, shares map[int]float64, draws int) float64 {
	t.Helper()
	seen := map[int]int{}
	draw := s.Draw(7)
	for range draws {
		seen[draw()]++
	}
	x := 0.0
	for n, share := range shares {
		expected := share * float64(draws)
		x += (float64(seen[n]) - expected) * (float64(seen[n]) - expected) / expected
		delete(seen, n)
	}
	for n, times := range seen {
		t.Errorf("%s: %d bytes were drawn %d times", s, n, times)
	}
	return x
}

func TestRangesAreUniform(t *testing.T) {
	shares := map[int]float64{}
	for n := 60; n < 160; n++ {
		shares[n] = 0.01
	}
	// The 1 - 1e-6 quantile of chi-square with 99 degrees of freedom is 180.8; the
	// seed is fixed.
	if x := chiSquare(t, Sizes{Min: 60, Max: 159}, shares, 200_000); x > 181 {
		t.Errorf("chi-square %v", x)
	}
}

func TestHistogramsAreDrawnAsTheyWeigh(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	for range 20 {
		var weights []Weight
		shares := map[int]float64{}
		sum := 0.0
		for i := range 2 + random.IntN(30) {
			w := math.Exp2(float64(random.IntN(7)))
			weights = append(weights, Weight{100 + i, w}, Weight{1000 + i, 0})
			sum += w
		}
		mean := 0.0
		for _, w := range weights {
			if w.Weight > 0 {
				shares[w.Bytes] = w.Weight / sum
				mean += float64(w.Bytes) * w.Weight / sum
			}
		}
		s := Weighted(weights)
		if got := s.Mean(); math.Abs(got-mean) > 1e-6 {
			t.Errorf("mean %v, want %v", got, mean)
		}
		// With at most 31 sizes the 1 - 1e-9 quantile is under 110.
		if x := chiSquare(t, s, shares, 100_000); x > 110 {
			t.Errorf("chi-square %v: %+v", x, s)
		}
	}
}

// TestSlotsAddUpToTheWeights looks at the table itself: nothing is lost by
// rounding, however unequal the weights are.
func TestSlotsAddUpToTheWeights(t *testing.T) {
	for _, weights := range [][]Weight{
		{{1, 1}}, {{1, 1}, {2, 1}}, {{1, 1e-12}, {2, 1}, {3, 1e-12}}, {{1, 1e15}, {2, 1e-300}, {3, 1}}, {{1, 0}, {2, 0}, {3, 1}},
		{{1, 0.1}, {2, 0.1}, {3, 0.1}, {4, 0.1}, {5, 0.1}, {6, 0.1}, {7, 1e-20}, {8, 0.3}},
	} {
		sum := 0.0
		for _, w := range weights {
			sum += w.Weight
		}
		got := map[int32]float64{}
		slots := aliases(weights)
		for _, s := range slots {
			share := float64(s.below) / (1 << 64)
			got[s.first] += share / float64(len(slots))
			got[s.second] += (1 - share) / float64(len(slots))
		}
		for _, w := range weights {
			if d := math.Abs(got[int32(w.Bytes)] - w.Weight/sum); d > 1e-15*float64(len(weights)) {
				t.Errorf("%+v: %d has %v", weights, w.Bytes, got[int32(w.Bytes)])
			}
		}
	}
}

func TestTheSeedDecides(t *testing.T) {
	for _, s := range []Sizes{{Min: 1, Max: 1 << 20}, Weighted([]Weight{{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}, {7, 1}, {8, 1}})} {
		one, same, next := s.Draw(41), s.Draw(41), s.Draw(42)
		differ := 0
		for range 1000 {
			a := one()
			if b := same(); a != b {
				t.Fatalf("%s: %d and %d from one seed", s, a, b)
			}
			if a != next() {
				differ++
			}
		}
		if differ < 800 {
			t.Errorf("%s: neighbouring seeds agree in %d of 1000", s, 1000-differ)
		}
	}
	if n := OneSize(128).Draw(3)(); n != 128 {
		t.Error("one size is another")
	}
}

func TestDrawingAllocatesNothing(t *testing.T) {
	for _, s := range []Sizes{OneSize(5), {Min: 1, Max: 9}, Weighted([]Weight{{1, 1}, {2, 5}})} {
		draw := s.Draw(1)
		if n := testing.AllocsPerRun(100, func() { draw() }); n != 0 {
			t.Errorf("%s: %v allocations", s, n)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	for name, s := range map[string]Sizes{"range": {Min: 64, Max: 1024}, "histogram": Weighted([]Weight{{64, 10}, {1024, 5}, {1 << 20, 0.01}})} {
		b.Run(name, func(b *testing.B) {
			draw := s.Draw(1)
			for b.Loop() {
				draw()
			}
		})
	}
}
