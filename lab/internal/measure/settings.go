package measure

import "time"

// Settings say how long and how often to measure.
type Settings struct {
	Budget    time.Duration // for all scenarios together, set-up included
	MinRounds int           // recorded for each scenario also when that exceeds its share of the budget
	MinFixed  int           // the same for scenarios that count, whose rounds cannot be made shorter and differ little
	MaxRounds int           // at most, also when there is time for more
	Slice     time.Duration // what one recorded run of the baseline should take
	MinSlice  time.Duration // what it may shrink to before there are fewer rounds than MaxRounds
	// Hard makes the budget weigh more than MinRounds: what runs when it is used
	// up ends after the round at hand, and what has not begun is not run, or, with
	// Once, is run for one round.
	Hard, Once bool
	// Counting is what a scenario that counts gets of the budget; 0 for as much as the
	// others.
	Counting time.Duration
}

// Quick ends within 20 seconds and says what is known then, of the first scenarios.
func Quick() Settings {
	return Settings{Budget: 16 * time.Second, MinRounds: 3, MinFixed: 1, MaxRounds: 9, Slice: 10 * time.Millisecond, MinSlice: 2 * time.Millisecond, Hard: true}
}

// Normal takes about a minute and runs every scenario, those that count for a round
// each: six rounds, which a verdict needs, are short.
func Normal() Settings {
	return Settings{
		Budget: 52 * time.Second, MinRounds: 6, MinFixed: 1, MaxRounds: 15, Slice: 10 * time.Millisecond, MinSlice: time.Millisecond,
		Hard: true, Once: true, Counting: 3 * time.Second,
	}
}

// Full takes at most 15 minutes and decides about targets.
func Full() Settings {
	return Settings{Budget: 13 * time.Minute, MinRounds: 15, MinFixed: 15, MaxRounds: 25, Slice: 80 * time.Millisecond, MinSlice: 20 * time.Millisecond}
}

// WithRounds returns settings with exactly n rounds for each scenario, in runs as
// long as the budget allows.
func (s Settings) WithRounds(n int) Settings {
	s.MinRounds, s.MinFixed, s.MaxRounds, s.Hard, s.Once = n, n, n, false, false
	return s
}

// WithBudget returns settings that fill another budget: with more time there
// are more rounds, in proportion.
func (s Settings) WithBudget(d time.Duration) Settings {
	if d > s.Budget {
		s.MaxRounds = int(float64(s.MaxRounds) * (float64(d) / float64(s.Budget)))
	}
	s.Budget = d
	return s
}

// warmUpShare is the part of a round's operations that is done unrecorded
// before each recorded run: one sixteenth.
const warmUpShare = 16

// A cost is what the unrecorded runs found out about a scenario.
type cost struct {
	variants int
	base     float64 // seconds per operation of the baseline
	all      float64 // seconds per operation of all variants together
	round    float64 // seconds of a round that do not depend on the operations
}

// plan chooses the operations of a run and the number of rounds for what is
// left of a scenario's share. Many short rounds say more than few long ones as
// long as a run is much longer than what disturbs it, so that runs shrink from Slice
// to MinSlice first, then there are fewer rounds down to MinRounds, and then
// runs shrink further, down to a floor that holds also when the share is used
// up: runs of MinSlice on the average of the variants, and of a tenth of it for the
// baseline, which counts where another variant is hundreds of times slower.
func (s Settings) plan(c cost, share time.Duration) (ops, rounds int) {
	perOp := c.all * (1 + 1.0/warmUpShare)
	fit := func(rounds int) float64 {
		return (share.Seconds()/float64(rounds) - c.round) / perOp
	}
	slice, shortest := s.Slice.Seconds(), s.MinSlice.Seconds()
	most, least := max(1, slice/c.base), max(1, shortest/c.base)
	floor := max(1, shortest*float64(c.variants)/c.all, shortest/10/c.base)

	n := min(most, max(least, fit(s.MaxRounds)))
	r := share.Seconds() / (n*perOp + c.round)
	if r < float64(s.MinRounds) {
		n = min(n, max(floor, fit(s.MinRounds)))
		r = float64(s.MinRounds)
	}
	// A baseline that does nothing would ask for more operations than an int
	// has.
	ops = int(min(n, 1<<30))
	rounds = int(min(r, float64(s.MaxRounds)))
	return ops, max(rounds, s.MinRounds, 1)
}
