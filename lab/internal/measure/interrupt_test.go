package measure

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

func TestAnInterruptKeepsWholeRounds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := &ledger{}
	calls := 0
	cut := l.variant("cut", func(ops int) (lab.Sample, error) {
		if calls++; calls == 4 {
			cancel()
			return lab.Sample{}, errors.New("the child was interrupted too")
		}
		return honest(1)(ops)
	})
	s := scenario("slow", l.variant("base", honest(1)), cut)
	s.Fixed = true
	options := small(10)
	outcomes, err := Run(ctx, []lab.Scenario{scenario("first", l.variant("base", honest(1))), s, s2(l)}, options)
	if err != nil {
		t.Fatal(err)
	}
	if o := outcomes[0]; o.State != Done || o.Rounds != 10 {
		t.Errorf("the one before: %s with %d rounds", o.State, o.Rounds)
	}
	o := outcomes[1]
	if o.State != Partial || o.Reason != "interrupted" || o.Rounds != 3 || !o.Measured() {
		t.Errorf("the one at hand: %s (%s) with %d rounds", o.State, o.Reason, o.Rounds)
	}
	for _, v := range o.Variants {
		if len(v.Calls) != 3 {
			t.Errorf("%s has %d calls", v.Name, len(v.Calls))
		}
	}
	if o := outcomes[2]; o.State != Skipped || o.Reason != "not reached" || o.Measured() {
		t.Errorf("the one after: %s, %q", o.State, o.Reason)
	}
}

func s2(l *ledger) lab.Scenario { return scenario("last", l.variant("base", honest(1))) }

func TestProgressIsToldInOrder(t *testing.T) {
	l := &ledger{}
	options := small(2)
	var steps []string
	options.Progress = func(e Event) {
		switch {
		case e.Outcome != nil:
			steps = append(steps, e.Scenario+" "+string(e.Outcome.State))
		case e.Round > 0:
			steps = append(steps, e.Scenario+" round")
		default:
			steps = append(steps, e.Scenario)
		}
		if e.Total != 2 {
			t.Errorf("total %d", e.Total)
		}
	}
	mustRun(t, options, scenario("a", l.variant("v", honest(1))), scenario("b", l.variant("v", honest(1))))
	want := []string{"a", "a round", "a round", "a done", "b", "b round", "b round", "b done"}
	if !slices.Equal(steps, want) {
		t.Errorf("got %q, want %q", steps, want)
	}
}

func TestAHardBudgetEndsTheRun(t *testing.T) {
	l := &ledger{}
	options := small(5)
	options.Hard = true
	options.Budget = 0
	if o := mustRun(t, options, scenario("a", l.variant("v", honest(1))))[0]; o.State != Skipped || o.Reason != "no time left" {
		t.Errorf("%s, %q", o.State, o.Reason)
	}
	if len(l.calls) != 0 {
		t.Errorf("%d calls", len(l.calls))
	}
}

func TestCountingScenariosMayHaveFewerRounds(t *testing.T) {
	l := &ledger{}
	s := scenario("idle", l.variant("v", honest(1)))
	s.Fixed = true
	options := small(7)
	options.Budget, options.MinFixed = 0, 3
	if o := mustRun(t, options, s)[0]; o.State != Done || o.Rounds != 3 {
		t.Errorf("%s with %d rounds, want 3", o.State, o.Rounds)
	}
	s.Fixed = false
	if o := mustRun(t, options, s)[0]; o.State != Done || o.Rounds != 7 {
		t.Errorf("%s with %d rounds, want 7", o.State, o.Rounds)
	}
}
