package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3}, 3},
		{[]float64{4, 2}, 3},
		{[]float64{9, 1, 5}, 5},
		{[]float64{1, 1000, 2, 3}, 2.5},
		{[]float64{7, 7, 7, 7, 7}, 7},
	} {
		values := slices.Clone(c.values)
		if got := Median(values); got != c.want {
			t.Errorf("Median(%v) = %v, want %v", c.values, got, c.want)
		}
		if !slices.Equal(values, c.values) {
			t.Errorf("Median reordered its argument: %v, was %v", values, c.values)
		}
	}
}

// The ranks are those of the usual table of the sign test for 95 %, the
// coverages sums of binomial probabilities worked out as fractions.
func TestMedianIntervalAgainstTheBinomialTable(t *testing.T) {
	for _, c := range []struct {
		n, lo, hi int // ranks from 1
		coverage  float64
	}{
		{1, 1, 1, 0},
		{2, 1, 2, 1.0 / 2},
		{3, 1, 3, 3.0 / 4},
		{5, 1, 5, 15.0 / 16},
		{6, 1, 6, 31.0 / 32},
		{7, 1, 7, 63.0 / 64},
		{8, 1, 8, 127.0 / 128},
		{9, 2, 8, 1 - 2*10.0/512},
		{10, 2, 9, 1 - 2*11.0/1024},
		{12, 3, 10, 1 - 2*79.0/4096},
		{15, 4, 12, 1 - 2*576.0/32768},
		{20, 6, 15, 1 - 2*21700.0/1048576},
		{25, 8, 18, 1 - 2*726206.0/33554432},
	} {
		values := make([]float64, c.n)
		for i := range values {
			values[i] = float64((i*7)%c.n + 1) // a permutation of 1..n unless 7 divides n
		}
		if c.n%7 == 0 {
			for i := range values {
				values[i] = float64(c.n - i)
			}
		}
		got := MedianInterval(values, 0.95)
		if got.Lo != float64(c.lo) || got.Hi != float64(c.hi) {
			t.Errorf("n=%d: ranks %v..%v, want %d..%d", c.n, got.Lo, got.Hi, c.lo, c.hi)
		}
		if math.Abs(got.Coverage-c.coverage) > 1e-9 {
			t.Errorf("n=%d: coverage %v, want %v", c.n, got.Coverage, c.coverage)
		}
		if want := float64(c.n+1) / 2; got.Median != want || got.N != c.n {
			t.Errorf("n=%d: median %v of %d, want %v", c.n, got.Median, got.N, want)
		}
	}
}

func TestMedianIntervalWithManyValues(t *testing.T) {
	values := make([]float64, 5000)
	for i := range values {
		values[i] = float64(i)
	}
	got := MedianInterval(values, 0.95)
	// The normal approximation: half a width of 1.96 * sqrt(n) / 2.
	if half := (got.Hi - got.Lo) / 2; math.Abs(half-69.3) > 2 {
		t.Errorf("half a width of %v ranks, the normal approximation says 69.3", half)
	}
	if got.Coverage < 0.95 || got.Coverage > 0.955 {
		t.Errorf("coverage %v", got.Coverage)
	}
}

// The promise of an interval: it covers the true median as often as it says,
// whatever the noise looks like.
func TestIntervalCoversTheTrueMedian(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	shapes := map[string]func() float64{
		"exponential": func() float64 { return rng.ExpFloat64() - math.Ln2 },
		"cauchy":      func() float64 { return math.Tan(math.Pi * (rng.Float64() - 0.5)) },
		"two humps":   func() float64 { return rng.NormFloat64() + 5*float64(rng.IntN(2)*2-1) },
	}
	const tries = 4000
	for name, draw := range shapes {
		for _, n := range []int{5, 7, 15} {
			covered := 0
			var said float64
			for range tries {
				values := make([]float64, n)
				for i := range values {
					values[i] = draw()
				}
				in := MedianInterval(values, 0.95)
				said = in.Coverage
				if in.Contains(0) {
					covered++
				}
			}
			got := float64(covered) / tries
			// Five standard deviations of the fraction that was counted.
			slack := 5 * math.Sqrt(said*(1-said)/tries)
			if math.Abs(got-said) > slack {
				t.Errorf("%s, n=%d: covers in %.4f of the tries, says %.4f (slack %.4f)", name, n, got, said, slack)
			}
		}
	}
}

func TestSignTest(t *testing.T) {
	for _, c := range []struct {
		below, above int
		want         float64
	}{
		{0, 0, 1},
		{5, 5, 1},
		{0, 7, 2.0 / 128},
		{7, 0, 2.0 / 128},
		{1, 9, 2 * 11.0 / 1024},
		{4, 11, 2 * 1941.0 / 32768},
		{7, 8, 1},
	} {
		if got := SignTest(c.below, c.above); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("SignTest(%d, %d) = %v, want %v", c.below, c.above, got, c.want)
		}
	}
}

func TestWrongArgumentsPanic(t *testing.T) {
	for name, call := range map[string]func(){
		"no values":            func() { Median(nil) },
		"not a number":         func() { Median([]float64{1, math.NaN()}) },
		"confidence of 1":      func() { MedianInterval([]float64{1}, 1) },
		"negative count":       func() { SignTest(-1, 3) },
		"rounds do not match":  func() { Ratios([]float64{1, 2}, []float64{1}) },
		"nothing to compare":   func() { Compare(nil) },
		"confidence undefined": func() { MedianInterval([]float64{1}, math.NaN()) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}
