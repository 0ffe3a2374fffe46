package measure

import (
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// A call is one call of a runner, as a ledger saw it.
type call struct {
	variant string
	ops     int
}

// A ledger writes down what the measurement does to synthetic runners.
type ledger struct {
	mu     sync.Mutex
	calls  []call
	opened []lab.Env
	closed []string
}

func (l *ledger) called(c call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, c)
}

// of returns the operation counts of a variant's calls, in order.
func (l *ledger) of(variant string) []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ops []int
	for _, c := range l.calls {
		if c.variant == variant {
			ops = append(ops, c.ops)
		}
	}
	return ops
}

// A synthetic runner does what its function says.
type synthetic struct {
	name   string
	ledger *ledger
	work   func(ops int) (lab.Sample, error)
	close  error
}

func (s *synthetic) Run(ops int) (lab.Sample, error) {
	s.ledger.called(call{s.name, ops})
	return s.work(ops)
}

func (s *synthetic) Close() error {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	s.ledger.closed = append(s.ledger.closed, s.name)
	return s.close
}

// variant makes a variant of a function.
func (l *ledger) variant(name string, work func(ops int) (lab.Sample, error)) lab.Variant {
	return lab.Variant{Name: name, About: "synthetic", Open: func(env lab.Env) (lab.Runner, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.opened = append(l.opened, env)
		return &synthetic{name: name, ledger: l, work: work}, nil
	}}
}

var sink uint64

// honest consumes eight bytes and spends about a nanosecond times slow on
// each operation.
func honest(slow int) func(ops int) (lab.Sample, error) {
	return func(ops int) (lab.Sample, error) {
		x := uint64(1)
		for range ops * slow {
			x = x*6364136223846793005 + 1442695040888963407
		}
		sink += x
		return lab.Sample{Bytes: int64(ops) * 8, Check: uint64(ops) * 3}, nil
	}
}

func scenario(name string, variants ...lab.Variant) lab.Scenario {
	return lab.Scenario{
		Name: name, Title: "a synthetic scenario", Op: "call", Metric: lab.NsPerOp,
		Baseline: variants[0].Name, Ops: 1000, Variants: variants,
	}
}

// small are settings with which a scenario takes milliseconds.
func small(rounds int) Options {
	return Options{Seed: 1, Settings: Settings{
		Budget: time.Minute, MinRounds: rounds, MinFixed: rounds, MaxRounds: rounds, Slice: 50 * time.Microsecond, MinSlice: 50 * time.Microsecond,
	}}
}

func mustRun(t *testing.T, options Options, scenarios ...lab.Scenario) []Outcome {
	t.Helper()
	outcomes, err := Run(t.Context(), scenarios, options)
	if err != nil {
		t.Fatal(err)
	}
	return outcomes
}
