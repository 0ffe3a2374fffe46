package matrix

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
)

// buffers is a grid of one engine whose cells have the figures of a function of
// the read buffer and the write buffer, with noise of a standard deviation.
func buffers(t *testing.T, rng *rand.Rand, sigma float64, at func(read, write float64) (iops, p99 float64)) *File {
	t.Helper()
	f, err := New(Buffer, Choice{Layers: []string{"std"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Cells {
		c := &f.Cells[i]
		iops, p99 := at(f.Rows.Values[c.Row], f.Columns.Values[c.Column])
		for round := 1; round <= f.Repeats; round++ {
			c.Runs = append(c.Runs, Run{Round: round, Place: i + 1, Valid: true, Requests: 1000, Figures: map[string]float64{
				IOPS: iops * math.Exp(sigma*rng.NormFloat64()), P99: p99 * math.Exp(sigma*rng.NormFloat64()),
			}})
		}
	}
	f.Derive()
	return f
}

func none() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }

func TestTheKneeOfBuffers(t *testing.T) {
	const K = 1 << 10
	// saturate grows up to the knee and no further.
	saturate := func(x, knee float64) float64 { return min(1, 0.3+0.7*x/knee) }
	for name, c := range map[string]struct {
		at    func(read, write float64) (iops, p99 float64)
		label string
	}{
		"saturating in both":  {func(r, w float64) (float64, float64) { return 1e5 * saturate(r, 64*K) * saturate(w, 16*K), 1e6 }, "64 KiB for reading, 16 KiB for writing"},
		"saturating, reading": {func(r, _ float64) (float64, float64) { return 1e5 * saturate(r, 256*K), 1e6 }, "256 KiB for reading, none for writing"},
		"a peak": {func(r, w float64) (float64, float64) {
			return 1e5 / (1 + math.Abs(math.Log2(r/(64*K)))) / (1 + math.Abs(math.Log2((w+1)/(64*K)))), 1e6
		}, "64 KiB for reading, 64 KiB for writing"},
		"flat":     {func(float64, float64) (float64, float64) { return 1e5, 1e6 }, "4 KiB for reading, none for writing"},
		"monotone": {func(r, w float64) (float64, float64) { return r * (w + 1), 1e6 }, "1 MiB for reading, 1 MiB for writing"},
		"a tail that small buffers have": {func(r, _ float64) (float64, float64) {
			return 1e5, 1e6 * (1 + 64*K/r)
		}, "1 MiB for reading, none for writing"},
		"a tail that large buffers have": {func(r, w float64) (float64, float64) {
			return 1e5 * saturate(r, 64*K), 1e6 * (1 + w/K)
		}, "64 KiB for reading, none for writing"},
	} {
		f := buffers(t, none(), 0, c.at)
		if len(f.Knees) != 1 || f.Knees[0].Label != c.label || f.Knees[0].Open {
			t.Errorf("%s: %+v, want %s", name, f.Knees, c.label)
			continue
		}
		k := f.Knees[0]
		if !strings.HasPrefix(k.Label, f.Rows.Labels[*k.Row]+" for reading") || !strings.HasSuffix(k.Label, f.Columns.Labels[k.Column]+" for writing") {
			t.Errorf("%s: %+v is no cell", name, k)
		}
		if !strings.Contains(k.Rule, "within 5 % of the best,") || !strings.Contains(k.Rule, "at most 10 %") {
			t.Errorf("%s: the rule %q", name, k.Rule)
		}
	}
}

func TestAKneeOfWhatTheGeneratorLimits(t *testing.T) {
	f := buffers(t, none(), 0, func(r, _ float64) (float64, float64) { return min(r, 64<<10), 1e6 })
	for i := range f.Cells {
		if f.Rows.Values[f.Cells[i].Row] >= 64<<10 {
			for j := range f.Cells[i].Runs {
				r := &f.Cells[i].Runs[j]
				r.Valid, r.Reason, r.Code = false, "busy", load.GeneratorFull
				delete(r.Figures, P99)
			}
		}
	}
	f.Derive()
	if len(f.Knees) != 1 || !f.Knees[0].Open || f.Knees[0].Label != "16 KiB for reading, none for writing" {
		t.Errorf("%+v", f.Knees)
	}
	// Nothing at all is no knee, and no fault.
	for i := range f.Cells {
		f.Cells[i].Runs = nil
	}
	f.Derive()
	if len(f.Knees) != 0 || f.Noise != 0 {
		t.Errorf("%+v, noise %v", f.Knees, f.Noise)
	}
}

// When all cells are equal but for noise, the smallest is as good as any: it is found
// in at least 8 of 10 grids. When the smallest is worse by more than the noise, it
// is not taken.
func TestTheKneeInNoise(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 3))
	for _, sigma := range []float64{0.01, 0.05} {
		smallest, steep := 0, 0
		const tries = 60
		for range tries {
			f := buffers(t, rng, sigma, func(float64, float64) (float64, float64) { return 1e5, 1e6 })
			if len(f.Knees) == 1 && f.Knees[0].Label == "4 KiB for reading, none for writing" {
				smallest++
			}
			f = buffers(t, rng, sigma, func(r, _ float64) (float64, float64) { return 1e5 * min(1, r/(64<<10)), 1e6 })
			if len(f.Knees) == 1 && strings.HasPrefix(f.Knees[0].Label, "64 KiB for reading") {
				steep++
			}
		}
		if smallest < tries*80/100 || steep < tries*9/10 {
			t.Errorf("noise of %v: flat grids have the smallest in %d of %d, steep ones the right reading in %d", sigma, smallest, tries, steep)
		}
	}
	f := buffers(t, rng, 0.5, func(float64, float64) (float64, float64) { return 1e5, 1e6 })
	if _, noisy := f.TooNoisy(0); len(f.Knees) != 0 || !noisy {
		t.Errorf("a knee in noise of 50 %%: %+v", f.Knees)
	}
}

// crowd is a grid of one engine and one size.
func crowd(t *testing.T, rate, p99 func(conns float64) float64) *File {
	t.Helper()
	f, err := New(SizeConns, Choice{Layers: []string{"std"}, Rows: "64"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Cells {
		c := &f.Cells[i]
		conns := f.Columns.Values[c.Column]
		for round := 1; round <= f.Repeats; round++ {
			run := Run{Round: round, Place: i + 1, Valid: true, Figures: map[string]float64{Throughput: rate(conns)}}
			if v := p99(conns); v > 0 {
				run.Figures[P99] = v
			} else {
				run.Valid, run.Reason, run.Code = false, "busy", load.GeneratorFull
			}
			c.Runs = append(c.Runs, run)
		}
	}
	f.Derive()
	return f
}

func TestTheKneeOfConnections(t *testing.T) {
	linear := func(c float64) float64 { return c }
	same := func(float64) float64 { return 1 }
	until := func(n float64) func(float64) float64 { return func(c float64) float64 { return min(c, n) } }
	for name, c := range map[string]struct {
		rate, p99 func(float64) float64
		label     string
		open      bool
	}{
		"saturates at 16":              {until(16), func(c float64) float64 { return max(1, c/16) }, "16", false},
		"saturates from the first":     {same, linear, "1", false},
		"scales for ever":              {linear, same, "1024", true},
		"dear, but it grows":           {linear, linear, "1024", true},
		"no growth":                    {same, same, "1", false},
		"peaks at 64":                  {func(c float64) float64 { return min(c, 64*64/c) }, func(c float64) float64 { return max(1, c*c/64/64) }, "64", false},
		"the generator's limit at 256": {linear, func(c float64) float64 { return max(0, min(1, 256-c)) }, "64", true},
	} {
		f := crowd(t, c.rate, c.p99)
		if len(f.Knees) != 1 || f.Knees[0].Label != c.label+" at 64 B" || f.Knees[0].Open != c.open || c.open == (f.Knees[0].Note == "") {
			t.Errorf("%s: %+v, want %s", name, f.Knees, c.label)
		}
	}
	if f := crowd(t, same, func(float64) float64 { return 0 }); len(f.Knees) != 0 {
		t.Errorf("a knee without a P99: %+v", f.Knees)
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		values []float64
		noise  float64
		ok     bool
	}{
		{nil, 0, false},
		{[]float64{1}, 0, false},
		{[]float64{0, 0}, 0, false},
		{[]float64{10, 10, 10}, 0, true},
		{[]float64{9, 10, 11}, 0.1, true},
		{[]float64{11, 9}, 0.1, true},
		{[]float64{10, 10, 10, 20}, 0.5, true},
		{[]float64{9, 10, 10, 11, 1000}, 0.1, true},
		{[]float64{9, 10, 10, 11, 0.1}, 0.1, true},
	} {
		if noise, ok := spread(c.values); ok != c.ok || math.Abs(noise-c.noise) > 1e-9 {
			t.Errorf("%v: %v, %v", c.values, noise, ok)
		}
	}
}
