package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestALineIsFoundAgain(t *testing.T) {
	for _, want := range []Line{{0, 1, 1}, {3, 0, 1}, {-2, 0.5, 1}, {1e6, -40, 1}} {
		var x, y []float64
		for _, at := range []float64{1, 2, 4, 8, 10, 12} {
			x, y = append(x, at), append(y, want.At(at))
		}
		got := Fit(x, y)
		if math.Abs(got.Intercept-want.Intercept) > 1e-6 || math.Abs(got.Slope-want.Slope) > 1e-6 || math.Abs(got.R2-1) > 1e-9 {
			t.Errorf("fitted %+v to points of %+v", got, want)
		}
	}
}

func TestALineAmongKnownPoints(t *testing.T) {
	// By hand: means 2 and 4, sums of squares 2, 4 and 26.
	got := Fit([]float64{1, 2, 3}, []float64{3, 1, 8})
	if math.Abs(got.Slope-2.5) > 1e-12 || math.Abs(got.Intercept+1) > 1e-12 || math.Abs(got.R2-25.0/52) > 1e-12 {
		t.Errorf("%+v", got)
	}
}

func TestNoLineFitsNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var x, y []float64
	for i := range 1000 {
		x, y = append(x, float64(i)), append(y, rng.NormFloat64())
	}
	if got := Fit(x, y); got.R2 > 0.02 {
		t.Errorf("%+v", got)
	}
}

func TestALineNeedsTwoPlaces(t *testing.T) {
	for _, c := range [][2][]float64{{nil, nil}, {{1}, {5}}, {{2, 2}, {1, 3}}, {{1, 2}, {1}}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a line through %v and %v", c[0], c[1])
				}
			}()
			Fit(c[0], c[1])
		}()
	}
}
