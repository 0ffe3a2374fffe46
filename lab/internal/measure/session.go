package measure

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// Options say how Run works.
type Options struct {
	Settings
	Seed  uint64 // of sizes and of the order within rounds
	Self  string // lab.Env.Self
	Full  bool   // lab.Env.Full
	Quick bool   // lab.Env.Quick
	// Progress is called for each event, between the recorded runs. It may be nil.
	Progress func(Event)
}

// An Event is a step of a measurement.
type Event struct {
	Index    int    // of the scenario, from 0
	Total    int    // scenarios
	Scenario string // its name
	Round    int    // recorded so far
	Outcome  *Outcome
	// Outcome is nil until the scenario is finished; it is not to be changed.
}

// Run measures the scenarios one after the other, in their order, and returns
// an outcome for each, also for those that it did not come to. When ctx ends it
// drops the round at hand and keeps every complete one.
//
// It returns an error only when it could not begin, without a temporary directory. What
// went wrong within a scenario stands in its outcome and does not keep the others from
// being measured.
//
// Each scenario gets a share of the time that is left in proportion to its number of
// variants, so that what one did not need goes to those after it; those that count may
// have one of their own.
func Run(ctx context.Context, scenarios []lab.Scenario, options Options) ([]Outcome, error) {
	dir, err := os.MkdirTemp("", "sluice-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	began := time.Now()
	weight, reserved := 0, time.Duration(0)
	own := func(scenario *lab.Scenario) bool { return scenario.Fixed && options.Counting > 0 }
	var outcomes []Outcome
	for i := range scenarios {
		outcomes = append(outcomes, newOutcome(&scenarios[i], options.Quick))
		if own(&scenarios[i]) {
			reserved += options.Counting
		} else {
			weight += len(scenarios[i].Variants)
		}
	}
	for i := range scenarios {
		if ctx.Err() != nil {
			break
		}
		scenario, o := &scenarios[i], &outcomes[i]
		left := max(0, options.Budget-time.Since(began))
		share := options.Counting
		if own(scenario) {
			reserved -= share
		} else {
			share = time.Duration(float64(max(0, left-reserved)) * float64(len(scenario.Variants)) / float64(weight))
			weight -= len(scenario.Variants)
		}
		event := func(finished *Outcome) {
			if options.Progress != nil {
				options.Progress(Event{Index: i, Total: len(scenarios), Scenario: scenario.Name, Round: o.Rounds, Outcome: finished})
			}
		}
		event(nil)
		if left == 0 && options.Hard && !options.Once {
			o.Reason = "no time left"
		} else {
			b := &bench{
				scenario: scenario, outcome: o, settings: options.Settings, share: share, deadline: began.Add(options.Budget),
				dir: filepath.Join(dir, fmt.Sprint(i)), recorded: func() { event(nil) },
				env: lab.Env{Seed: options.Seed, Self: options.Self, Full: options.Full, Quick: options.Quick},
			}
			b.run(ctx)
		}
		event(o)
	}
	return outcomes, nil
}

// An order says in which order the variants run in each round. Within as many
// rounds as there are variants each stands once in each place; then a new
// arrangement is drawn, so that the neighbours change too.
type order struct {
	rng      *rand.Rand
	variants int
	base     []int
	rounds   int
}

// newOrder makes the same sequence for the same seed, scenario and number of
// variants, and another one for another scenario.
func newOrder(seed uint64, scenario string, variants int) *order {
	h := fnv.New64a()
	h.Write([]byte(scenario))
	return &order{rng: rand.New(rand.NewPCG(seed, h.Sum64())), variants: variants}
}

// next returns the indexes of the variants in the order of the next round.
// The slice is the caller's.
func (o *order) next() []int {
	n := o.variants
	if n == 0 {
		return nil
	}
	if o.rounds%n == 0 {
		o.base = o.rng.Perm(n)
	}
	round := make([]int, n)
	for i := range round {
		round[i] = o.base[(i+o.rounds)%n]
	}
	o.rounds++
	return round
}
