package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/aclements/go-moremath/stats"
)

// The counts are those of the table in Mann and Whitney's paper for samples of
// three and three, and of four and two.
func TestRankTailsAgainstTheTable(t *testing.T) {
	for _, c := range []struct {
		n, m int
		want []float64
	}{
		{3, 3, []float64{1. / 20, 2. / 20, 4. / 20, 7. / 20, 10. / 20}},
		{2, 4, []float64{1. / 15, 2. / 15, 4. / 15, 6. / 15}},
		{1, 1, []float64{0.5}},
	} {
		got := rankTails(c.n, c.m)
		if len(got) != len(c.want) {
			t.Errorf("%d and %d: %v, want %v", c.n, c.m, got, c.want)
			continue
		}
		for i := range got {
			if math.Abs(got[i]-c.want[i]) > 1e-12 {
				t.Errorf("%d and %d: %v, want %v", c.n, c.m, got, c.want)
			}
		}
	}
	// Beyond exactCells it is approximated.
	near := rankTails(30, 31)
	for _, u := range []int{280, 320, 327, 360} {
		if exact := (stats.UDist{N1: 30, N2: 31}).CDF(float64(u)); math.Abs(exact-near[u]) > 0.002 {
			t.Errorf("30 and 31, at most %d: counted %v, approximated %v", u, exact, near[u])
		}
	}
	if tail := rankTails(1, 2); len(tail) == 0 {
		t.Error("no tail at all")
	}
}

// The interval covers the true ratio as often as it says.
func TestRankIntervalCoversTheTrueRatio(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	const tries, truth = 1500, 1.3
	for _, sizes := range [][2]int{{3, 3}, {4, 4}, {5, 9}, {15, 15}, {31, 30}} {
		covered, said := 0, 0.0
		for range tries {
			a, b := make([]float64, sizes[0]), make([]float64, sizes[1])
			for i := range a {
				a[i] = math.Exp(0.2 * math.Tan(1.4*(2*rng.Float64()-1)))
			}
			for i := range b {
				b[i] = truth * math.Exp(0.2*math.Tan(1.4*(2*rng.Float64()-1)))
			}
			c := CompareRuns(a, b, AtLeast, 1)
			said = c.Coverage
			if c.Contains(truth) {
				covered++
			}
		}
		got := float64(covered) / tries
		if slack := 5*math.Sqrt(said*(1-said)/tries) + 0.003; math.Abs(got-said) > slack {
			t.Errorf("%v: covers in %.4f of the tries, says %.4f", sizes, got, said)
		}
	}
}

func TestVerdictsOnRuns(t *testing.T) {
	around := func(center, spread float64, n int) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = center + spread*(float64(i)/float64(max(1, n-1))*2-1)
		}
		return values
	}
	zeros := make([]float64, 9)
	for _, c := range []struct {
		name           string
		earlier, later []float64
		want           Verdict
	}{
		{"the same", around(10, 1, 15), around(10, 1, 15), Same},
		{"clearly more", around(10, 1, 15), around(15, 1, 15), More},
		{"clearly less", around(10, 1, 15), around(7, 1, 15), Less},
		{"sure and small", around(10, 0.01, 15), around(11.9, 0.01, 15), Same},
		{"three, far away", around(10, 0.1, 3), around(20, 0.1, 3), More},
		{"three, near", around(10, 1, 3), around(12.5, 1, 3), Same},
		{"two show nothing", around(10, 0.1, 2), around(20, 0.1, 2), Same},
		{"one shows nothing", []float64{1}, []float64{100}, Same},
		{"nothing and nothing", zeros, zeros, Same},
		{"something where nothing was", zeros, around(5, 1, 9), More},
		{"nothing where something was", around(5, 1, 9), zeros, Less},
		{"now and then something", zeros, append(around(5, 1, 2), zeros...), Same},
		{"of very different size", around(1e-300, 0, 5), around(1e300, 0, 5), More},
		{"one of three ruined", []float64{10, 10, 10}, []float64{30, 10, 10}, Same},
	} {
		got := CompareRuns(c.earlier, c.later, AtLeast, 1)
		if got.Verdict != c.want {
			t.Errorf("%s: %v, want %v (%+v)", c.name, got.Verdict, c.want, got.Interval)
		}
		if math.IsNaN(got.Median+got.Lo+got.Hi) || math.IsInf(got.Median, 0) || math.IsInf(got.Hi, 0) {
			t.Errorf("%s: %+v", c.name, got.Interval)
		}
	}
	// What is plain for one comparison is not for the only one that stands out
	// among a thousand.
	earlier, later := around(10, 1, 7), around(13, 1, 7)
	if one, many := CompareRuns(earlier, later, AtLeast, 1), CompareRuns(earlier, later, AtLeast, 1000); one.Verdict != More || many.Verdict != Same {
		t.Errorf("alone %v, among a thousand %v", one.Verdict, many.Verdict)
	}
	for name, values := range map[string][2][]float64{
		"no values": {nil, {1}}, "negative": {{-1}, {1}}, "not a number": {{1}, {math.NaN()}}, "infinite": {{1}, {math.Inf(1)}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			CompareRuns(values[0], values[1], 0, 1)
		}()
	}
}
