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
		if Judge(curve(60, noisy), 0).Verdict == Grew {
			accused++
		}
		if Judge(curve(60, func(i int) float64 { return noisy(i) + float64(i) }), 0).Verdict == Grew {
			found++
		}
	}
	if accused > runs/100 || found < runs*95/100 {
		t.Errorf("of %d flat runs %d were accused, of as many with a leak %d found", runs, accused, found)
	}
}

func TestWhatIsJudged(t *testing.T) {
	filling := func(until int) func(int) float64 {
		return func(i int) float64 { return 100 * float64(min(i, until)+1) }
	}
	for name, c := range map[string]struct {
		samples []Sample
		settled time.Duration
		verdict Verdict
		want    string
	}{
		"too few samples":     {curve(9, func(int) float64 { return 1 }), 0, TooShort, "too short to judge: of 8m0s, what is before 2m0s is not judged, and 7 samples come after, want 8"},
		"flat":                {curve(60, func(int) float64 { return 100 }), 0, Steady, ""},
		"grows in warm-up":    {curve(60, func(i int) float64 { return 100 + float64(min(i, 14)) }), 0, Steady, ""},
		"grows by 1 %":        {curve(60, func(i int) float64 { return 100 + float64(i)/60 }), 0, Steady, ""},
		"grows by a tenth":    {curve(60, func(i int) float64 { return 100 + float64(i)/4.5 }), 0, Grew, "resident memory grew"},
		"shrinks":             {curve(60, func(i int) float64 { return 100 - float64(i) }), 0, Steady, ""},
		"a saw with a leak":   {curve(60, func(i int) float64 { return 100 + float64(i%5) + float64(i)/4 }), 0, Grew, "resident memory grew"},
		"fills, then is flat": {curve(60, filling(14)), 14 * time.Minute, Steady, ""},
		"fills, then grows":   {curve(60, func(i int) float64 { return filling(14)(i) + 5*float64(i) }), 14 * time.Minute, Grew, "resident memory grew"},
		"fills a quarter":     {curve(60, filling(16)), 16 * time.Minute, TooShort, "too short to judge: of 59m0s, what is before 32m0s is not judged"},
		"fills until the end": {curve(60, filling(60)), never, TooShort, "too short to judge: after 59m0s the work was not yet steady"},
		"no sample at all":    {nil, never, TooShort, "too short to judge"},
	} {
		j := Judge(c.samples, c.settled)
		if got := strings.Join(j.Texts, "; "); j.Verdict != c.verdict || (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, %q, want %s, %q", name, j.Verdict, got, c.verdict, c.want)
		}
	}
}

func TestPage(t *testing.T) {
	p := page("Test/<x>", curve(60, func(i int) float64 { return float64(i) }), Judgement{Grew, []string{"it grew & grew"}, 29*time.Minute + 30*time.Second})
	for _, want := range []string{"Test/&lt;x&gt;", "it grew &amp; grew", "resident memory, 0 to 59 MiB", `<rect width="360" height="120"/>`, `points="0.0,120.0 `, `720.0,0.0 "`} {
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
	timed := func(s Sample) bool { return s.P99 >= 0 }
	samples(t, w, func() bool { return slices.ContainsFunc(w.samples, timed) })
	w.End()
	if s := w.samples[slices.IndexFunc(w.samples, timed)]; s.P99 > 0.001 || s.P99 < 0.0008 || s.Goroutines < 2 || s.Heap <= 0 {
		t.Errorf("%+v", s)
	}
	if want := Judge(w.samples, 0).Texts; !slices.Equal(judge.list, want) {
		t.Errorf("the test fails for %q, want %q", judge.list, want)
	}
}

// A run in which the work never becomes steady fails no test, and is no success either.
func TestAWatchThatIsTooShortSkips(t *testing.T) {
	judge := &faults{TB: t}
	w := Begin(judge, 2*time.Second, 0)
	w.Fills()
	samples(t, w, func() bool { return true })
	if got := w.End(); got != TooShort {
		t.Errorf("it is %s", got)
	}
	if len(judge.list) > 0 || len(judge.cleanups) != 1 {
		t.Fatalf("it fails for %q, and has %d to do at the end", judge.list, len(judge.cleanups))
	}
	judge.cleanups[0]()
	if !strings.HasPrefix(judge.skip, string(TooShort)) {
		t.Errorf("it is skipped for %q", judge.skip)
	}
}

// samples waits until a watch has some, and until enough reports true.
func samples(t *testing.T, w *Watch, enough func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		w.mu.Lock()
		ready := len(w.samples) >= 2*fewest && enough()
		w.mu.Unlock()
		if ready {
			return
		}
		select {
		case <-deadline:
			t.Fatal("no samples")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// faults are what a watch finds wrong with this process, whose memory may grow.
type faults struct {
	testing.TB
	list     []string
	cleanups []func()
	skip     string
}

func (f *faults) Error(args ...any) { f.list = append(f.list, fmt.Sprint(args...)) }
func (f *faults) Cleanup(do func()) { f.cleanups = append(f.cleanups, do) }
func (f *faults) Skip(args ...any)  { f.skip = fmt.Sprint(args...) }
