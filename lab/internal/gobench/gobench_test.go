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
	for _, fixed := range []bool{false, true} {
		c := &counter{}
		r := testing.Benchmark(func(b *testing.B) { measure(b, &lab.Scenario{Name: "s", Ops: 50, Fixed: fixed}, c) })
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
	good := &counter{}
	missing := lab.Variant{Name: "missing", Open: func(lab.Env) (lab.Runner, error) { return nil, errors.ErrUnsupported }}
	testing.Benchmark(func(b *testing.B) {
		Bench(b, lab.Scenario{Name: "s", Ops: 5, Variants: []lab.Variant{missing, good.variant("good")}})
	})
	if good.opens == 0 || good.opens != good.closes {
		t.Errorf("opened %d times, closed %d times", good.opens, good.closes)
	}
	if _, err := os.Stat(good.dir); !os.IsNotExist(err) {
		t.Errorf("the directory is still there: %v", err)
	}
}
