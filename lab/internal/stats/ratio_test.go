package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestRatiosAreTakenRoundByRound(t *testing.T) {
	// The second round ran on a machine that was ten times slower.
	got := Ratios([]float64{2, 20, 2}, []float64{4, 40, 4})
	if want := []float64{0.5, 0.5, 0.5}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, to := range [][]float64{{1, 0}, {1, math.NaN()}, {1, 0}} {
		if got := Ratios([]float64{1, 0}, to); got != nil {
			t.Errorf("ratios to %v: %v, want none", to, got)
		}
	}
	if got := Ratios([]float64{0, 0}, []float64{2, 3}); !slices.Equal(got, []float64{0, 0}) {
		t.Errorf("nothing against something: %v", got)
	}
}

func TestVerdicts(t *testing.T) {
	around := func(center, spread float64, n int) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = center + spread*(float64(i)/float64(n-1)*2-1)
		}
		return values
	}
	for _, c := range []struct {
		name   string
		ratios []float64
		want   Verdict
	}{
		{"clearly less", around(0.8, 0.05, 15), Less},
		{"clearly more", around(8, 1, 15), More},
		{"around one", around(1, 0.2, 15), Same},
		{"below one on the whole, with one round above", append(around(0.8, 0.05, 14), 1.5), Less},
		{"twelve of fifteen below one are too few", append(around(0.93, 0.05, 12), 1.2, 1.2, 1.2), Same},
		{"sure and negligible", around(1.005, 0.001, 15), Same},
		{"exactly one", []float64{1, 1, 1, 1, 1, 1, 1, 1}, Same},
		{"seven on one side", around(0.8, 0.1, 7), Less},
		{"six of seven on one side", append(around(0.8, 0.1, 6), 1.1), Same},
		{"far away but for one ruined round", []float64{1.3, 1.4, 1.35, 0.3, 1.45, 1.38, 1.33, 1.41, 1.36}, More},
		{"not so far but for one ruined round", []float64{1.03, 1.4, 1.35, 0.3, 1.45, 1.38, 1.33, 1.41, 1.36}, Same},
		{"nothing in six rounds", []float64{0, 0, 0, 0, 0, 0}, Less},
		{"six far away", []float64{8.1, 8.4, 8.2, 8.3, 8.1, 8.2}, More},
		{"six on one side, spread as wide as they are far", []float64{1.2, 1.3, 1.45, 1.25, 1.3, 1.4}, Same},
		{"five are too few", []float64{8.1, 8.2, 8.3, 8.4, 8.5}, Undecided},
		{"one", []float64{8.1}, Undecided},
		{"a ratio of zero", []float64{0, 0, 0, 0, 0, 0, 0}, Less},
	} {
		got := Compare(c.ratios)
		if got.Verdict != c.want {
			t.Errorf("%s: %v, want %v (%+v)", c.name, got.Verdict, c.want, got.Interval)
		}
	}
}

// machine imitates what a shared machine does to timings: a speed that drifts
// by factors over a run, a tail of slow samples, now and then a round that
// something else ruined, and a penalty for the variant that runs first in a round.
type machine struct {
	rng   *rand.Rand
	speed float64
}

func (m *machine) round(variants int) []float64 {
	m.speed += 0.15 * m.rng.NormFloat64()
	m.speed = min(1.4, max(0, m.speed))
	times := make([]float64, variants)
	for i := range times {
		ns := 80 * math.Exp(m.speed)
		ns *= math.Exp(0.03 * m.rng.NormFloat64())
		if m.rng.Float64() < 0.15 {
			ns *= 1 + 0.3*m.rng.ExpFloat64()
		}
		if m.rng.Float64() < 0.01 {
			ns *= 4
		}
		times[i] = ns
	}
	first := m.rng.IntN(variants)
	times[first] *= 1.02
	return times
}

func (m *machine) compare(rounds int, factor float64) Verdict {
	var of, to []float64
	for range rounds {
		times := m.round(2)
		of = append(of, times[0]*factor)
		to = append(to, times[1])
	}
	return Compare(Ratios(of, to)).Verdict
}

// Two copies of the same thing must count as equal: in at least 95 of 100 tries
// the answer is ~. A hundred tries would sometimes fail by chance; with 4,000 the
// rate itself is compared with the promise.
func TestIdenticalVariantsAreNotToldApart(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	const tries = 4000
	for _, rounds := range []int{6, 7, 9, 12, 15, 21, 31} {
		m := &machine{rng: rand.New(rand.NewPCG(seed, uint64(rounds)))}
		same := 0
		for range tries {
			if m.compare(rounds, 1) == Same {
				same++
			}
		}
		t.Logf("%d rounds: ~ in %.1f of 100 tries", rounds, float64(same)*100/tries)
		if same < tries*95/100 {
			t.Errorf("%d rounds: ~ in %d of %d tries", rounds, same, tries)
		}
	}
}

func TestRealDifferencesAreFound(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	m := &machine{rng: rand.New(rand.NewPCG(seed, 0))}
	for _, c := range []struct {
		factor float64
		want   Verdict
	}{{0.85, Less}, {1.2, More}} {
		found := 0
		const tries = 1000
		for range tries {
			switch m.compare(15, c.factor) {
			case c.want:
				found++
			case Same:
			default:
				t.Errorf("factor %v: the wrong way round", c.factor)
			}
		}
		if found < tries*80/100 {
			t.Errorf("factor %v: found in %d of %d tries with 15 rounds", c.factor, found, tries)
		}
	}
}
