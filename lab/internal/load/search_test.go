package load

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// knee runs against a target that takes so many requests a second, and whose latency
// grows on the way there.
func knee(capacity float64, noise func() float64) runFunc {
	return func(_ context.Context, p Plan, _ func(Progress)) (*Result, error) {
		r := &Result{Plan: p, Valid: true}
		used := p.Rate / capacity * noise()
		if used >= 1 {
			r.Valid = false
			r.Reasons = []Reason{{TargetBehind, "behind"}}
			return r, nil
		}
		r.Latency = &Distribution{P50: time.Millisecond, P99: time.Duration(float64(time.Millisecond) / (1 - used))}
		return r, nil
	}
}

func TestSearchFindsTheKnee(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		capacity := 20 + 1e5*rng.Float64() // a step of ten seconds has enough requests at 10 a second
		p := Default()
		p.Rate = []float64{0, 10, 1e4, 1e6}[rng.IntN(4)]
		// P99 is 5 ms at 80 % of the capacity.
		f, err := search(t.Context(), p, Limit{0.99, 5 * time.Millisecond}, nil, knee(capacity, func() float64 { return 1 }))
		if err != nil {
			t.Fatal(err)
		}
		if want := 0.8 * capacity; f.Rate > want || f.Rate < want/searchPrecision*0.99 || f.Generator {
			t.Errorf("from %v of a capacity of %v: %v in %d steps, want %v", p.Rate, capacity, f.Rate, len(f.Steps), want)
		}
		noisy, err := search(t.Context(), p, Limit{0.99, 5 * time.Millisecond}, nil, knee(capacity, func() float64 { return 0.97 + 0.06*rng.Float64() }))
		if err != nil || noisy.Rate > 0.8*capacity*1.04 || noisy.Rate < 0.8*capacity*0.85 {
			t.Errorf("with noise, of a capacity of %v: %+v, %v", capacity, noisy, err)
		}
	}
}

func TestSearchThatFindsNothing(t *testing.T) {
	for _, c := range []struct {
		run       runFunc
		generator bool
		fails     bool
	}{
		{func(_ context.Context, p Plan, _ func(Progress)) (*Result, error) {
			return &Result{Plan: p, Valid: true, Latency: &Distribution{P99: time.Second}}, nil
		}, false, false},
		{func(_ context.Context, p Plan, _ func(Progress)) (*Result, error) {
			return &Result{Plan: p, Reasons: []Reason{{GeneratorFull, ""}}}, nil
		}, true, false},
		{func(_ context.Context, p Plan, _ func(Progress)) (*Result, error) {
			return &Result{Plan: p, Reasons: []Reason{{RepliesFailed, ""}, {GeneratorLate, ""}}}, nil
		}, false, false},
		{func(_ context.Context, p Plan, _ func(Progress)) (*Result, error) {
			return &Result{Plan: p, Errors: 1, Error: "broken", Reasons: []Reason{{TargetFailed, ""}}}, nil
		}, false, true},
		{func(context.Context, Plan, func(Progress)) (*Result, error) { return nil, errors.New("refused") }, false, true},
	} {
		f, err := search(t.Context(), Default(), Limit{0.99, time.Millisecond}, nil, c.run)
		if (err != nil) != c.fails || err == nil && (f.Rate != 0 || f.Generator != c.generator) {
			t.Errorf("%+v, %v", f, err)
		}
	}
}

// A percentile of so few requests that the slowest of them decides alone says nothing of a rate.
func TestSearchDoesNotJudgeByAHandfulOfRequests(t *testing.T) {
	for _, c := range []struct {
		rate     float64
		duration time.Duration
		limit    Limit
		least    float64
	}{
		{0, 300 * time.Millisecond, Limit{0.99, time.Millisecond}, 100 / 0.3},
		{5, 10 * time.Second, Limit{0.99, time.Millisecond}, 10},
		{0, 3 * time.Second, Limit{0.999, time.Millisecond}, 1000 / 3.0},
		{0, time.Minute, Limit{0.5, time.Millisecond}, 1},
	} {
		p := Default()
		p.Rate, p.Duration = c.rate, c.duration
		lowest := 1e12
		f, err := search(t.Context(), p, c.limit, func(s Step) { lowest = min(lowest, s.Rate) }, func(_ context.Context, p Plan, _ func(Progress)) (*Result, error) {
			return &Result{Plan: p, Reasons: []Reason{{GeneratorLate, "late"}}}, nil
		})
		if err != nil || f.Rate != 0 || len(f.Steps) == 0 || lowest < 0.999*c.least {
			t.Errorf("%+v: down to %v a second in %d steps, %v", c, lowest, len(f.Steps), err)
		}
	}
}
