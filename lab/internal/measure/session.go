package measure

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
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
	// Grace is how long Run waits, once its context has ended, for the call of a
	// runner that is under way. Then it returns without it.
	Grace time.Duration
	// Progress is called for each event, between the recorded runs, one event at a time; it
	// must not call back into this package. It may be nil.
	Progress func(Event)
}

// An Event is a step of a measurement.
type Event struct {
	Index    int    // of the scenario, from 0
	Total    int    // scenarios
	Scenario string // its name
	Round    int    // recorded so far
	Outcome  *Outcome
	// Outcome is nil until the scenario is finished, and then the receiver's own.
}

// A session is one call of Run.
type session struct {
	options Options

	mu       sync.Mutex
	outcomes []Outcome
	closed   bool // Run has returned: no outcome changes and Progress is not called any more
}

// Run measures the scenarios one after the other, in their order, and returns
// an outcome for each, also for those that it did not come to. When ctx ends it
// finishes nothing but keeps every complete round.
//
// It returns an error only when it could not begin: the scenarios contradict
// themselves, or there is no temporary directory. What went wrong within a
// scenario stands in its outcome and does not keep the others from being
// measured.
func Run(ctx context.Context, scenarios []lab.Scenario, options Options) ([]Outcome, error) {
	if err := Validate(scenarios); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sluice-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)

	s := &session{options: options}
	for i := range scenarios {
		s.outcomes = append(s.outcomes, newOutcome(&scenarios[i]))
	}
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		s.measure(ctx, scenarios, dir)
	}()
	select {
	case <-finished:
	case <-ctx.Done():
		timer := time.NewTimer(options.Grace)
		defer timer.Stop()
		select {
		case <-finished:
		case <-timer.C:
		}
	}
	return s.close(), nil
}

// measure goes through the scenarios. Each gets a share of the time that is
// left in proportion to its number of variants, so that what one did not
// need goes to those after it; those that count may have one of their own.
func (s *session) measure(ctx context.Context, scenarios []lab.Scenario, dir string) {
	began := time.Now()
	weight, reserved := 0, time.Duration(0)
	own := func(scenario *lab.Scenario) bool { return scenario.Fixed && s.options.Counting > 0 }
	for i := range scenarios {
		if own(&scenarios[i]) {
			reserved += s.options.Counting
		} else {
			weight += len(scenarios[i].Variants)
		}
	}
	for i := range scenarios {
		scenario := &scenarios[i]
		left := max(0, s.options.Budget-time.Since(began))
		share := s.options.Counting
		if own(scenario) {
			reserved -= share
		} else {
			share = time.Duration(float64(max(0, left-reserved)) * float64(len(scenario.Variants)) / float64(weight))
			weight -= len(scenario.Variants)
		}

		if ctx.Err() != nil {
			return
		}
		s.tell(i, nil)
		if left == 0 && s.options.Hard && !s.options.Once {
			s.change(i, func(o *Outcome) { o.Reason = "no time left" })
		} else {
			s.one(ctx, i, scenario, share, began.Add(s.options.Budget), filepath.Join(dir, fmt.Sprint(i)))
		}
		s.mu.Lock()
		outcome := s.outcomes[i].clone()
		s.mu.Unlock()
		s.tell(i, &outcome)
	}
}

func (s *session) one(ctx context.Context, i int, scenario *lab.Scenario, share time.Duration, deadline time.Time, dir string) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		s.change(i, func(o *Outcome) { o.drop(Failed, err.Error()) })
		return
	}
	defer os.RemoveAll(dir)
	s.change(i, func(o *Outcome) { o.Reason = noRound })
	b := &bench{
		scenario: scenario, settings: s.options.Settings, share: share, deadline: deadline, dir: dir,
		env: lab.Env{Seed: s.options.Seed, Self: s.options.Self, Full: s.options.Full, Quick: s.options.Quick},
	}
	b.report = func(change func(*Outcome)) {
		if rounds, more := s.change(i, change); more {
			s.tellRound(i, rounds)
		}
	}
	b.run(ctx)
}

// change applies a change to an outcome unless the session is closed, and
// says whether rounds were added.
func (s *session) change(i int, change func(*Outcome)) (rounds int, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, false
	}
	before := s.outcomes[i].Rounds
	change(&s.outcomes[i])
	return s.outcomes[i].Rounds, s.outcomes[i].Rounds > before
}

func (s *session) tell(i int, finished *Outcome) {
	s.event(Event{Index: i, Outcome: finished})
}

func (s *session) tellRound(i, rounds int) {
	s.event(Event{Index: i, Round: rounds})
}

func (s *session) event(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.options.Progress == nil {
		return
	}
	e.Total, e.Scenario = len(s.outcomes), s.outcomes[e.Index].Name
	s.options.Progress(e)
}

// close ends the session, also under the hands of a measuring goroutine that
// a runner does not let go, and returns what there is.
func (s *session) close() []Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for i := range s.outcomes {
		o := &s.outcomes[i]
		if o.State == Skipped && o.Rounds > 0 {
			o.State, o.Reason = Partial, "interrupted"
		}
		s.outcomes[i] = o.clone()
	}
	return slices.Clip(s.outcomes)
}
