package gobench_test

import (
	"fmt"
	"testing"

	"github.com/sluice-go/sluice/lab/internal/gobench"
	"github.com/sluice-go/sluice/lab/internal/lab"
)

type nothing struct{}

func (nothing) Run(ops int) (lab.Sample, error) { return lab.Sample{}, nil }
func (nothing) Close() error                    { return nil }

func Example() {
	s := lab.Scenario{Name: "nothing", Ops: 1, Variants: []lab.Variant{{
		Name: "nothing", Open: func(lab.Env) (lab.Runner, error) { return nothing{}, nil },
	}}}
	// In a test file: func BenchmarkNothing(b *testing.B) { gobench.Bench(b, s) }
	result := testing.Benchmark(func(b *testing.B) { gobench.Bench(b, s) })
	fmt.Println(result.N > 0)
	// Output: true
}
