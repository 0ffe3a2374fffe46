package load

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sluice-go/sluice/lab/internal/stats"
	"github.com/sluice-go/sluice/sluicetest"
)

// simulatedPair is a minute of rounds on a shared machine: a speed that drifts for both, a
// scatter of each half, and now and then a half that something ruined.
func simulatedPair(r *rand.Rand, factor float64) (a, b pairFigures) {
	speed := 0.0
	for range 55 {
		speed = math.Max(-0.3, math.Min(0.6, speed+0.1*r.NormFloat64()))
		half := func(us float64) []float64 {
			v := us * math.Exp(speed+0.12*r.NormFloat64())
			if r.IntN(12) == 0 {
				v *= 1 + r.ExpFloat64()
			}
			return []float64{v, 5 * v, 1e6 / v}
		}
		x, y := half(100), half(100*factor)
		for k := range a {
			a[k], b[k] = append(a[k], x[k]), append(b[k], y[k])
		}
	}
	return a, b
}

func TestAPairIsToldApartWhenItDiffers(t *testing.T) {
	r := rand.New(rand.NewPCG(sluicetest.Seed(t), 11))
	const tries = 500
	found, alarms := 0, 0
	for range tries {
		for factor, want := range map[float64]*int{1: &alarms, 1.17: &found} {
			a, b := simulatedPair(r, factor)
			p, err := newPair([2]string{"a", "b"}, a, b)
			if err != nil {
				t.Fatal(err)
			}
			if p.Median.Verdict == stats.More || factor == 1 && p.Median.Verdict == stats.Less {
				*want++
			}
		}
	}
	t.Logf("100 to 117 µs is found in %d of %d, the same twice told apart in %d", found, tries, alarms)
	if found < tries*9/10 || alarms > tries/20 {
		t.Errorf("100 to 117 µs is found in %d of %d, the same twice told apart in %d", found, tries, alarms)
	}
}
