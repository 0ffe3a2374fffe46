package measure_test

import (
	"context"
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/measure"
)

// An adder counts operations in steps; a greedy one counts whole steps only.
type adder struct {
	step   int
	greedy bool
}

func (a adder) Run(ops int) (lab.Sample, error) {
	sum := 0
	for i := 0; i < ops; i += a.step {
		if a.greedy {
			sum += a.step
		} else {
			sum += min(a.step, ops-i)
		}
	}
	return lab.Sample{Bytes: int64(ops), Check: uint64(sum)}, nil
}

func (adder) Close() error { return nil }

func Example() {
	open := func(step int, greedy bool) func(lab.Env) (lab.Runner, error) {
		return func(lab.Env) (lab.Runner, error) { return adder{step, greedy}, nil }
	}
	scenarios := []lab.Scenario{{
		Name: "adding/ones", Title: "adding up", Op: "addition", Metric: lab.NsPerOp, Baseline: "ones", Ops: 1 << 20,
		Variants: []lab.Variant{{Name: "ones", Open: open(1, false)}, {Name: "pairs", Open: open(2, false)}},
	}, {
		Name: "adding/threes", Title: "adding too much", Op: "addition", Metric: lab.NsPerOp, Baseline: "ones", Ops: 1 << 20,
		Fixed:    true, // exactly 1<<20 operations, no calibration
		Variants: []lab.Variant{{Name: "ones", Open: open(1, false)}, {Name: "threes", Open: open(3, true)}},
	}}
	outcomes, err := measure.Run(context.Background(), scenarios, measure.Options{Settings: measure.Quick().WithRounds(3)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range outcomes {
		fmt.Println(o.Name, o.State, o.Rounds)
	}
	fmt.Println(outcomes[1].Reason)
	// Output:
	// adding/ones done 3
	// adding/threes invalid 0
	// not the same work in 1048576 operations: threes consumed 1048576 bytes with sum 0x100002, ones 1048576 bytes with sum 0x100000
}
