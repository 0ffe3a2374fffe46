package gobench

import (
	"errors"
	"flag"
	"os"
	"testing"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// The testing package would give each benchmark a second.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.benchtime", "20ms"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

type counter struct {
	calls  []int
	opens  int
	closes int
	dir    string
	fail   error
}

var kept []byte

func (c *counter) Run(ops int) (lab.Sample, error) {
	c.calls = append(c.calls, ops)
	for range ops {
		kept = make([]byte, 1000)
	}
	return lab.Sample{Bytes: int64(ops) * 1000, Figures: map[string]float64{"pinned": 7, lab.NsPerOp: -1}}, c.fail
}

func (c *counter) Close() error {
	c.closes++
	return nil
}

func (c *counter) variant(name string) lab.Variant {
	return lab.Variant{Name: name, Open: func(env lab.Env) (lab.Runner, error) {
		c.opens++
		c.dir = env.Dir
		if _, err := os.Stat(env.Dir); err != nil || env.Self == "" || env.Seed == 0 {
			return nil, errors.New("no environment")
		}
		return c, nil
	}}
}

// within runs a benchmark and returns the result of the sub-benchmark, which
// testing.Benchmark does not give out.
func within(t *testing.T, s lab.Scenario, v lab.Variant) testing.BenchmarkResult {
	t.Helper()
	var runner lab.Runner
	result := testing.Benchmark(func(b *testing.B) {
		if runner == nil {
			var err error
			if runner, err = v.Open(lab.Env{Seed: 1, Self: "x", Dir: t.TempDir()}); err != nil {
				b.Fatal(err)
			}
		}
		if err := measure(b, &s, runner); err != nil {
			b.Fatal(err)
		}
	})
	return result
}

func TestTheWholeOfBNIsRunAtOnce(t *testing.T) {
	c := &counter{}
	r := within(t, lab.Scenario{Name: "s", Ops: 5}, c.variant("v"))
	if last := c.calls[len(c.calls)-1]; last != r.N {
		t.Errorf("the last call was of %d operations, b.N is %d", last, r.N)
	}
	if r.Extra["pinned"] != 7 {
		t.Errorf("metrics %v", r.Extra)
	}
	if got := r.Extra[mallocs] / float64(r.N); got < 1 || got > 1.1 {
		t.Errorf("%v allocations for each operation, want 1", got)
	}
	if got := r.Extra[mbAlloc] * 1e6 / float64(r.N); got < 1000 || got > 1100 {
		t.Errorf("%v bytes for each operation, want the size class of 1000", got)
	}
	if r.Extra[gcRuns] == 0 || r.Bytes != 1000 {
		t.Errorf("%v collections, %d bytes for each operation", r.Extra[gcRuns], r.Bytes)
	}
	if _, ok := r.Extra[lab.NsPerOp]; ok {
		t.Error("the runner's own time won over the clock of the testing package")
	}
}

func TestAFixedScenarioIsRepeatedWhole(t *testing.T) {
	c := &counter{}
	r := within(t, lab.Scenario{Name: "s", Ops: 50, Fixed: true}, c.variant("v"))
	for _, ops := range c.calls {
		if ops != 50 {
			t.Fatalf("a call of %d operations", ops)
		}
	}
	if got := r.Extra[lab.AllocsPerOp]; got < 1 || got > 1.2 {
		t.Errorf("%v allocations for each operation, want 1", got)
	}
	if r.Extra["pinned"] != 7 {
		t.Errorf("a runner's figure is %v, want its mean", r.Extra["pinned"])
	}
}

func TestVariantsAreOpenedOnceAndClosed(t *testing.T) {
	good := &counter{}
	missing := lab.Variant{Name: "missing", Open: func(lab.Env) (lab.Runner, error) { return nil, errors.ErrUnsupported }}
	testing.Benchmark(func(b *testing.B) {
		Bench(b, lab.Scenario{Name: "s", Ops: 5, Variants: []lab.Variant{missing, good.variant("good")}})
	})
	if good.opens == 0 || good.opens != good.closes {
		t.Errorf("opened %d times, closed %d times", good.opens, good.closes)
	}
	if good.opens >= len(good.calls) {
		t.Errorf("opened %d times for %d calls", good.opens, len(good.calls))
	}
	if _, err := os.Stat(good.dir); !os.IsNotExist(err) {
		t.Errorf("the directory is still there: %v", err)
	}
}
