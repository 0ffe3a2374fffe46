package measure

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

func TestEveryRoundRunsEachVariantOnce(t *testing.T) {
	for _, variants := range []int{1, 2, 5, 8} {
		o := newOrder(7, "framing/good", variants)
		places := make([][]int, variants)
		for range 4 * variants {
			round := o.next()
			for place, i := range round {
				places[i] = append(places[i], place)
			}
			slices.Sort(round)
			for i := range round {
				if round[i] != i {
					t.Fatalf("%d variants: a round of %v", variants, round)
				}
			}
		}
		// Over as many rounds as there are variants each is in each place once.
		for i, list := range places {
			for block := range slices.Chunk(list, variants) {
				block = slices.Clone(block)
				slices.Sort(block)
				if len(slices.Compact(block)) != variants {
					t.Errorf("%d variants: variant %d was in places %v", variants, i, list)
				}
			}
		}
	}
}

func TestOrderComesFromTheSeed(t *testing.T) {
	sequence := func(seed uint64, name string) (all []int) {
		o := newOrder(seed, name, 6)
		for range 12 {
			all = append(all, o.next()...)
		}
		return all
	}
	a := sequence(1, "tcp/128")
	if !slices.Equal(a, sequence(1, "tcp/128")) {
		t.Error("the same seed gave another order")
	}
	if slices.Equal(a, sequence(2, "tcp/128")) || slices.Equal(a, sequence(1, "tcp/1K")) {
		t.Error("another seed or scenario gave the same order")
	}
}

func TestAllVariantsGetTheSameOperations(t *testing.T) {
	l := &ledger{}
	outcomes := mustRun(t, small(6), scenario("a", l.variant("base", honest(1)), l.variant("slow", honest(9)), l.variant("x", honest(2))))
	o := outcomes[0]
	if o.State != Done || o.Rounds != 6 || o.Reason != "" {
		t.Fatalf("state %s (%s) with %d rounds", o.State, o.Reason, o.Rounds)
	}
	base := l.of("base")
	for _, name := range []string{"slow", "x"} {
		if got := l.of(name); !slices.Equal(got, base) {
			t.Errorf("%s was called with %v, the baseline with %v", name, got, base)
		}
	}
	for _, v := range o.Variants {
		if len(v.Calls) != 6 {
			t.Errorf("%s has %d calls", v.Name, len(v.Calls))
		}
	}
	for round := range 6 {
		var places []int
		for _, v := range o.Variants {
			places = append(places, v.Calls[round].Place)
		}
		slices.Sort(places)
		if !slices.Equal(places, []int{0, 1, 2}) {
			t.Errorf("round %d: places %v", round, places)
		}
	}
	// What is recorded follows the probe and, in each round, a warm-up.
	if tail := base[len(base)-12:]; tail[1] != o.Ops || tail[11] != o.Ops || tail[10] != o.Ops/warmUpShare {
		t.Errorf("calls of %v operations end a measurement of %d", tail, o.Ops)
	}
	slices.Sort(l.closed)
	if !slices.Equal(l.closed, []string{"base", "slow", "x"}) {
		t.Errorf("closed were %v", l.closed)
	}
}

func TestAFixedScenarioDoesExactlyItsOperations(t *testing.T) {
	l := &ledger{}
	s := scenario("idle", l.variant("base", honest(1)), l.variant("other", honest(1)))
	s.Fixed, s.Ops = true, 4000
	mustRun(t, small(3), s)
	if got := l.of("other"); !slices.Equal(got, []int{4000, 4000, 4000}) {
		t.Errorf("calls of %v operations, want three of 4000", got)
	}
}

func TestSetUpHasItsOwnDirectoryAndTheSameSeed(t *testing.T) {
	l := &ledger{}
	options := small(1)
	options.Seed, options.Self, options.Full, options.Quick = 99, "self", true, true
	var existed []bool
	probe := func(env lab.Env) (lab.Runner, error) {
		entries, err := os.ReadDir(env.Dir)
		existed = append(existed, err == nil && len(entries) == 0)
		if err := os.WriteFile(filepath.Join(env.Dir, "left"), nil, 0o600); err != nil {
			return nil, err
		}
		l.opened = append(l.opened, env)
		return &synthetic{ledger: l, work: honest(1)}, nil
	}
	v := []lab.Variant{{Name: "a", Open: probe}, {Name: "b", Open: probe}}
	mustRun(t, options, scenario("one", v...), scenario("two", v...))
	if !slices.Equal(existed, []bool{true, true, true, true}) {
		t.Errorf("empty directories: %v", existed)
	}
	dirs := map[string]bool{}
	for _, env := range l.opened {
		dirs[env.Dir] = true
		if env.Seed != 99 || env.Self != "self" || !env.Full || !env.Quick {
			t.Errorf("environment %+v", env)
		}
		if _, err := os.Stat(env.Dir); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", env.Dir, err)
		}
	}
	if len(dirs) != 4 {
		t.Errorf("%d directories for 4 variants", len(dirs))
	}
}
