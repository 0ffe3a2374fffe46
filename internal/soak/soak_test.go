package soak

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// curve makes samples whose resident memory is of(i), and nothing else is known.
func curve(n int, of func(i int) float64) []Sample {
	samples := make([]Sample, n)
	for i := range samples {
		samples[i] = Sample{At: time.Duration(i) * time.Minute, Resident: of(i) * (1 << 20), Heap: -1, Goroutines: -1, Descriptors: -1, Blocks: -1, P99: -1}
	}
	return samples
}

// A flat curve with noise is accused in few of many runs, one that grows is found in
// nearly all.
func TestGrowthIsToldFromNoise(t *testing.T) {
	const runs = 500
	r := rand.New(rand.NewPCG(1, 2))
	accused, found := 0, 0
	for range runs {
		noisy := func(int) float64 { return 200 + 10*r.NormFloat64() }
		if len(Faults(curve(60, noisy))) > 0 {
			accused++
		}
		if len(Faults(curve(60, func(i int) float64 { return noisy(i) + float64(i) }))) > 0 {
			found++
		}
	}
	if accused > runs/100 || found < runs*95/100 {
		t.Errorf("of %d flat runs %d were accused, of as many with a leak %d found", runs, accused, found)
	}
}

func TestWhatIsJudged(t *testing.T) {
	for name, c := range map[string]struct {
		samples []Sample
		want    string
	}{
		"too short":         {curve(5, func(int) float64 { return 1 }), "too few"},
		"flat":              {curve(60, func(int) float64 { return 100 }), ""},
		"grows in warm-up":  {curve(60, func(i int) float64 { return 100 + float64(min(i, 14)) }), ""},
		"grows by 1 %":      {curve(60, func(i int) float64 { return 100 + float64(i)/60 }), ""},
		"grows by a tenth":  {curve(60, func(i int) float64 { return 100 + float64(i)/4.5 }), "resident memory grew"},
		"shrinks":           {curve(60, func(i int) float64 { return 100 - float64(i) }), ""},
		"a saw with a leak": {curve(60, func(i int) float64 { return 100 + float64(i%5) + float64(i)/4 }), "resident memory grew"},
	} {
		got := strings.Join(Faults(c.samples), "; ")
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestPage(t *testing.T) {
	p := page("Test/<x>", curve(60, func(i int) float64 { return float64(i) }), []string{"it grew & grew"})
	for _, want := range []string{"Test/&lt;x&gt;", "it grew &amp; grew", "resident memory, 0 to 59 MiB", `<rect width="180" height="120"/>`, `points="0.0,120.0 `, `720.0,0.0 "`} {
		if !strings.Contains(p, want) {
			t.Errorf("no %q in\n%s", want, p)
		}
	}
	if strings.Contains(p, "goroutines") {
		t.Error("a curve of what is not known")
	}
}

func TestWatch(t *testing.T) {
	judge := &faults{TB: t}
	w := Begin(judge, 2*time.Second, 0)
	for range 100 {
		w.Latency(time.Millisecond)
	}
	deadline := time.After(time.Minute)
	timed := func(s Sample) bool { return s.P99 >= 0 }
	for {
		w.mu.Lock()
		enough := len(w.samples) >= fewest && slices.ContainsFunc(w.samples, timed)
		w.mu.Unlock()
		if enough {
			break
		}
		select {
		case <-deadline:
			t.Fatal("no samples")
		case <-time.After(10 * time.Millisecond):
		}
	}
	w.End()
	if s := w.samples[slices.IndexFunc(w.samples, timed)]; s.P99 > 0.001 || s.P99 < 0.0008 || s.Goroutines < 2 || s.Heap <= 0 {
		t.Errorf("%+v", s)
	}
	if want := Faults(w.samples); !slices.Equal(judge.list, want) {
		t.Errorf("the test fails for %q, want %q", judge.list, want)
	}
}

// faults are what a watch finds wrong with this process, whose memory may grow.
type faults struct {
	testing.TB
	list []string
}

func (f *faults) Error(args ...any) { f.list = append(f.list, fmt.Sprint(args...)) }
