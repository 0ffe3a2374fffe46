package scenarios

import (
	"errors"
	"flag"
	"os"
	"testing"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// bench lets go test -bench run the scenario of that name, one variant after the other: for
// profiles, and for comparing two versions of the code with benchstat. A machine that drifts puts
// its drift into the comparison of variants; lab bench does not.
func bench(b *testing.B, name string) {
	for _, s := range All() {
		if s.Name == name {
			benchVariants(b, s)
			return
		}
	}
	b.Fatalf("there is no scenario %s", name)
}

func BenchmarkHighFrequencyReads(b *testing.B) { bench(b, "framing/small-16") }

// benchVariants runs every variant of a scenario as a sub-benchmark named variant=NAME, as in the
// text that lab report --benchstat writes, with the metrics that runners report by
// themselves, of the last run. A variant that this machine does not support is skipped. A
// scenario whose number of operations is fixed is run b.N times with that number.
func benchVariants(b *testing.B, s lab.Scenario) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	for _, v := range s.Variants {
		b.Run("variant="+v.Name, func(b *testing.B) {
			// The same seed for every run, so that the same bytes are read each time.
			runner, err := v.Open(lab.Env{Seed: 1, Self: self, Dir: b.TempDir()})
			if errors.Is(err, errors.ErrUnsupported) {
				b.Skip(err)
			}
			if err != nil {
				b.Fatal(err)
			}
			defer func() {
				if err := runner.Close(); err != nil {
					b.Error(err)
				}
			}()
			measureVariant(b, &s, runner)
		})
	}
}

func measureVariant(b *testing.B, s *lab.Scenario, runner lab.Runner) {
	runs, ops := 1, b.N
	if s.Fixed {
		runs, ops = b.N, s.Ops
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range runs {
		sample, err := runner.Run(ops)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(sample.Bytes * int64(runs) / int64(b.N))
		for name, value := range sample.Figures {
			if name != lab.NsPerOp && name != lab.AllocsPerOp && name != lab.BytesPerOp { // testing has its own
				b.ReportMetric(value, name)
			}
		}
	}
}

// briefly keeps the testing package from giving each benchmark a second.
func briefly(t *testing.T) {
	before := flag.Lookup("test.benchtime").Value.String()
	if err := flag.Set("test.benchtime", "20ms"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { flag.Set("test.benchtime", before) })
}

type counter struct {
	calls         []int
	opens, closes int
	dir           string
}

func (c *counter) Run(ops int) (lab.Sample, error) {
	c.calls = append(c.calls, ops)
	return lab.Sample{Bytes: int64(ops) * 1000, Figures: map[string]float64{"reads/op": 7, lab.NsPerOp: -1}}, nil
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

func TestTheWholeOfBNIsRunAtOnceUnlessItIsFixed(t *testing.T) {
	briefly(t)
	for _, fixed := range []bool{false, true} {
		c := &counter{}
		r := testing.Benchmark(func(b *testing.B) { measureVariant(b, &lab.Scenario{Name: "s", Ops: 50, Fixed: fixed}, c) })
		want, bytes := r.N, int64(1000)
		if fixed {
			want, bytes = 50, 50_000
		}
		if last := c.calls[len(c.calls)-1]; last != want || r.Bytes != bytes {
			t.Errorf("the last call was of %d operations with %d bytes each, b.N is %d", last, r.Bytes, r.N)
		}
		if _, own := r.Extra[lab.NsPerOp]; own || r.Extra["reads/op"] != 7 {
			t.Errorf("metrics %v", r.Extra)
		}
	}
}

func TestVariantsAreClosedAndSkipped(t *testing.T) {
	briefly(t)
	good := &counter{}
	missing := lab.Variant{Name: "missing", Open: func(lab.Env) (lab.Runner, error) { return nil, errors.ErrUnsupported }}
	testing.Benchmark(func(b *testing.B) {
		benchVariants(b, lab.Scenario{Name: "s", Ops: 5, Variants: []lab.Variant{missing, good.variant("good")}})
	})
	if good.opens == 0 || good.opens != good.closes {
		t.Errorf("opened %d times, closed %d times", good.opens, good.closes)
	}
	if _, err := os.Stat(good.dir); !os.IsNotExist(err) {
		t.Errorf("the directory is still there: %v", err)
	}
}
