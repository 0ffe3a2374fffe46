package measure

import (
	"math"
	"testing"
	"time"
)

func TestPlanKeepsToItsShare(t *testing.T) {
	s := Settings{MinRounds: 7, MaxRounds: 15, Slice: 20 * time.Millisecond, MinSlice: 5 * time.Millisecond}
	// 100 ns for the baseline and 400 ns for all: a full round is 85 ms.
	plain := cost{variants: 3, base: 100e-9, all: 400e-9}
	with := func(change func(*cost)) cost {
		c := plain
		change(&c)
		return c
	}
	for _, c := range []struct {
		name        string
		cost        cost
		share       time.Duration
		ops, rounds int
	}{
		{"time for everything", plain, 2 * time.Second, 200_000, 15},
		{"runs shrink before rounds are given up", plain, 638 * time.Millisecond, 100_000, 15},
		{"then there are fewer rounds", plain, 213 * time.Millisecond, 50_000, 10},
		{"then runs shrink further", plain, 119 * time.Millisecond, 40_000, 7},
		{"but not without end", plain, 0, 37_500, 7},
		{"also when collections alone use up the share", with(func(c *cost) { c.round = 1 }), time.Second, 37_500, 7},
		{"a slow neighbour counts", with(func(c *cost) { c.all = 4000e-9 }), 2 * time.Second, 50_000, 9},
		{"a very slow one leaves the baseline a tenth", with(func(c *cost) { c.all = 50e-6 }), 0, 5_000, 7},
		{"operations slower than a slice", cost{variants: 3, base: 1, all: 3}, time.Second, 1, 7},
		{"operations faster than a clock", cost{variants: 2, base: 1e-15, all: 2e-15}, time.Hour, 1 << 30, 15},
	} {
		ops, rounds := s.plan(c.cost, c.share)
		// The shares above are rounded to milliseconds.
		if math.Abs(float64(ops-c.ops)) > 0.001*float64(c.ops) || rounds != c.rounds {
			t.Errorf("%s: %d operations, %d rounds; want %d, %d", c.name, ops, rounds, c.ops, c.rounds)
		}
	}
}

func TestPlanExceedsTheShareOnlyForItsFloor(t *testing.T) {
	for name, s := range map[string]Settings{"quick": Quick(), "normal": Normal(), "full": Full()} {
		for _, variants := range []float64{1, 3, 8} {
			for _, share := range []time.Duration{50 * time.Millisecond, time.Second, time.Minute} {
				c := cost{variants: int(variants), base: 80e-9, all: 80e-9 * variants * 2.5, round: 0.0004 * variants}
				ops, rounds := s.plan(c, share)
				took := float64(rounds) * (float64(ops)*c.all*(1+1.0/warmUpShare) + c.round)
				// With the shortest runs on the average of the variants.
				floor := float64(s.MinRounds) * variants * (s.MinSlice.Seconds()*(1+1.0/warmUpShare) + 0.0004)
				if took > max(share.Seconds(), floor)*1.001 {
					t.Errorf("%s, %v variants: %.3f s planned for a share of %v", name, variants, took, share)
				}
				if rounds < s.MinRounds || rounds > s.MaxRounds {
					t.Errorf("%s: %d rounds", name, rounds)
				}
			}
		}
	}
}

func TestSettingsOfTheThreeModes(t *testing.T) {
	if q := Quick(); q.Budget >= 20*time.Second || q.MinRounds < 3 || q.MinFixed < 1 || !q.Hard {
		t.Errorf("quick: %+v", q)
	}
	if n := Normal(); n.Budget > time.Minute || n.MinRounds < 6 || n.MinFixed < 1 || !n.Once {
		t.Errorf("normal: %+v", n)
	}
	if f := Full(); f.Budget > 14*time.Minute || f.MinRounds < 15 || f.MinFixed < 15 {
		t.Errorf("full: %+v", f)
	}
	if r := Quick().WithRounds(4); r.MinRounds != 4 || r.MinFixed != 4 || r.MaxRounds != 4 || r.Hard {
		t.Errorf("with rounds: %+v", r)
	}
	if b := Normal().WithBudget(2 * Normal().Budget); b.MaxRounds != 30 || b.MinRounds != 6 {
		t.Errorf("with twice the time: %+v", b)
	}
	if b := Normal().WithBudget(time.Second); b.Budget != time.Second || b.MaxRounds != 15 {
		t.Errorf("with less time: %+v", b)
	}
}
