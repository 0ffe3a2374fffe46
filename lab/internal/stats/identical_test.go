package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/measure"
	"github.com/sluice-go/sluice/lab/internal/report"
	"github.com/sluice-go/sluice/lab/internal/stats"
)

// placed are scenarios whose figures depend on where the process put its memory:
// two processes differ for as long as they live, because goroutines write to the
// same cache line in one and not in the other. No number of rounds can see
// that, and it is a true difference. A ratio within a process cancels it.
var placed = []string{"machine/false-sharing"}

// A replay plays recorded noise again, from places drawn at random.
type replay struct {
	rng *rand.Rand
	noise
	calls map[*float64]measure.Call // of the recorded figures, each made once
}

func newReplay(t *testing.T, file string, without []string) *replay {
	t.Helper()
	if underRace {
		t.Skip("it takes long, and there is one goroutine")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := &replay{rand.New(rand.NewPCG(seed, 1)), loadNoise(t, file), map[*float64]measure.Call{}}
	r.Scenarios = slices.DeleteFunc(r.Scenarios, func(s noisy) bool { return slices.Contains(without, s.Name) })
	if len(r.Scenarios) < 8 {
		t.Fatalf("noise of %d scenarios", len(r.Scenarios))
	}
	return r
}

// onEach runs a test on each of the recordings.
func onEach(t *testing.T, without []string, test func(t *testing.T, r *replay)) {
	for _, file := range noiseFiles {
		t.Run(filepath.Base(file), func(t *testing.T) { test(t, newReplay(t, file, without)) })
	}
}

// block returns rounds that followed each other, so that drift stays what it
// was, of both copies, in either order.
func (r *replay) block(p pass, rounds int) (one, two []float64) {
	at := r.rng.IntN(len(p.One) - rounds + 1)
	one, two = p.One[at:at+rounds], p.Two[at:at+rounds]
	if r.rng.IntN(2) == 1 {
		return two, one
	}
	return one, two
}

// twoPasses are different ones: different processes, some seconds to minutes apart.
func (r *replay) twoPasses(s *noisy) (a, b pass) {
	i, j := r.rng.IntN(len(s.Passes)), r.rng.IntN(len(s.Passes)-1)
	if j >= i {
		j++
	}
	return s.Passes[i], s.Passes[j]
}

// outcome is what bench would have made of the two copies; factor slows the
// second.
func (r *replay) outcome(name string, one, two []float64, factor float64) measure.Outcome {
	variant := func(name string, values []float64, factor float64) measure.Variant {
		v := measure.Variant{Name: name, Calls: make([]measure.Call, len(values))}
		for i := range values {
			call, known := r.calls[&values[i]]
			if !known || factor != 1 {
				call = measure.Call{Figures: map[string]float64{"ns/op": values[i] * factor}}
			}
			if !known && factor == 1 {
				r.calls[&values[i]] = call
			}
			v.Calls[i] = call
		}
		return v
	}
	return measure.Outcome{
		Name: name, Op: "op", Metric: "ns/op", Baseline: "one", State: measure.Done, Rounds: len(one), Ops: 1,
		Variants: []measure.Variant{variant("one", one, 1), variant("two", two, factor)},
	}
}

// verdict is what a table says of the second copy.
func (r *replay) verdict(one, two []float64, factor float64) stats.Verdict {
	o := r.outcome("a", one, two, factor)
	return report.Summarize(&o).Rows[1].Verdict
}

// Two copies of the same thing in one run of bench: the table says ~ in at
// least 95 of 100 tries.
func TestRecordedCopiesAreNotToldApart(t *testing.T) { onEach(t, nil, recordedCopiesAreNotToldApart) }

func recordedCopiesAreNotToldApart(t *testing.T, r *replay) {
	const tries = 4000
	for rounds := 6; rounds <= 15; rounds += 3 {
		same := 0
		for range tries {
			s := &r.Scenarios[r.rng.IntN(len(r.Scenarios))]
			one, two := r.block(s.Passes[r.rng.IntN(len(s.Passes))], rounds)
			if r.verdict(one, two, 1) == "~" {
				same++
			}
		}
		t.Logf("%d rounds: ~ in %.1f of 100 tries", rounds, float64(same)*100/tries)
		if tooFew(same, tries, 0.95) {
			t.Errorf("%d rounds: ~ in %d of %d tries", rounds, same, tries)
		}
	}
}

// Two runs of bench over the same scenarios, compared as files are: not one figure of
// all of them, few or many, is called better or worse in at least 99 of 100 tries.
func TestRecordedFilesAreNotToldApart(t *testing.T) { onEach(t, nil, recordedFilesAreNotToldApart) }

func recordedFilesAreNotToldApart(t *testing.T, r *replay) {
	for _, c := range []struct{ rows, tries int }{{10, 500}, {400, 60}} {
		for _, rounds := range []int{6, 9, 15} {
			tries := c.tries
			if testing.Short() {
				tries /= 3
			}
			same := 0
			for range tries {
				earlier, later := &report.File{}, &report.File{}
				for i := range c.rows {
					s := &r.Scenarios[i%len(r.Scenarios)]
					name := fmt.Sprint(s.Name, "/", i)
					a, b := r.twoPasses(s)
					one, two := r.block(a, rounds)
					earlier.Scenarios = append(earlier.Scenarios, r.outcome(name, one, two, 1))
					one, two = r.block(b, rounds)
					later.Scenarios = append(later.Scenarios, r.outcome(name, one, two, 1))
				}
				if c := compared(t, earlier, later); c.Regressions+c.Better == 0 {
					same++
				}
			}
			t.Logf("%d rounds: nothing but ~ in %.1f of 100 files of %d figures", rounds, float64(same)*100/float64(tries), c.rows)
			if tooFew(same, tries, 0.99) {
				t.Errorf("%d rounds: nothing but ~ in %d of %d files of %d figures", rounds, same, tries, c.rows)
			}
		}
	}
}

func compared(t *testing.T, earlier, later *report.File) *report.Comparison {
	t.Helper()
	c, err := report.Compare(&report.Result{Kind: report.KindBench, Bench: earlier}, &report.Result{Kind: report.KindBench, Bench: later}, report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Two runs of load against the same target: their windows are those of one
// copy at different times, so that the machine's speed is in them.
func TestRecordedLoadsAreNotToldApart(t *testing.T) { onEach(t, placed, recordedLoadsAreNotToldApart) }

func recordedLoadsAreNotToldApart(t *testing.T, r *replay) {
	const tries = 2000
	made := func(values []float64) *report.Result {
		l := &load.Result{Origin: machine.Origin{Kind: load.Kind, Schema: load.Schema}, Valid: true, Plan: load.Default(), Latency: &load.Distribution{Count: 1, P99: time.Duration(slices.Max(values) * 1000)}}
		for i, v := range values {
			at := time.Duration(i+1) * time.Second
			l.Series = append(l.Series, load.Second{At: at, Requests: uint64(1e9 / v), Rate: 128e9 / v})
			l.Due = append(l.Due, load.DueWindow{At: at, Count: 1, P50: time.Duration(1000 * v), P99: time.Duration(1000 * v), P999: time.Duration(1000 * v)})
		}
		return &report.Result{Kind: report.KindLoad, Load: l}
	}
	for windows := 6; windows <= 15; windows += 3 {
		same := 0
		for range tries {
			s := &r.Scenarios[r.rng.IntN(len(r.Scenarios))]
			a, b := r.twoPasses(s)
			earlier, _ := r.block(a, windows)
			later, _ := r.block(b, windows)
			c, err := report.Compare(made(earlier), made(later), report.Options{})
			if err != nil {
				t.Fatal(err)
			}
			// What is recorded are rounds of 25 ms, some of which the machine ruined: as a
			// window of a second that would be something that happened.
			if !slices.ContainsFunc(c.Changes, func(ch report.Change) bool {
				return (ch.Verdict == report.Better || ch.Verdict == report.Worse) && !strings.HasSuffix(ch.Figure, "in one window")
			}) {
				same++
			}
		}
		t.Logf("%d windows: nothing but ~ in %.1f of 100 tries", windows, float64(same)*100/tries)
		if tooFew(same, tries, 0.99) {
			t.Errorf("%d windows: nothing but ~ in %d of %d tries", windows, same, tries)
		}
	}
}

// What is really different is found on the same noise, and never the wrong way
// round more often than a false alarm may be.
func TestRealDifferencesAreFoundInRecordedNoise(t *testing.T) {
	onEach(t, nil, realDifferencesAreFoundInRecordedNoise)
}

func realDifferencesAreFoundInRecordedNoise(t *testing.T, r *replay) {
	const tries, rounds = 4000, 15
	found := func(name string, factor, want float64, judge func(s *noisy, factor float64) string) {
		hits, wrong := 0, 0
		for range tries {
			switch judge(&r.Scenarios[r.rng.IntN(len(r.Scenarios))], factor) {
			case "more", "worse":
				hits++
			case "less", "better":
				wrong++
			}
		}
		t.Logf("%s: %.0f %% more is found in %.1f of 100 tries with %d rounds, and the wrong way round in %.1f", name, (factor-1)*100, float64(hits)*100/tries, rounds, float64(wrong)*100/tries)
		if tooFew(hits, tries, want) || wrong > tries*2/100 {
			t.Errorf("%s: %v times as much is found in %d of %d tries, want %.0f %%; the wrong way round in %d", name, factor, hits, tries, want*100, wrong)
		}
	}
	within := func(s *noisy, factor float64) string {
		one, two := r.block(s.Passes[r.rng.IntN(len(s.Passes))], rounds)
		return string(r.verdict(one, two, factor))
	}
	between := func(s *noisy, factor float64) string {
		a, b := r.twoPasses(s)
		one, two := r.block(a, rounds)
		earlier := &report.File{Scenarios: []measure.Outcome{r.outcome(s.Name, one, two, 1)}}
		one, two = r.block(b, rounds)
		later := &report.File{Scenarios: []measure.Outcome{r.outcome(s.Name, one, two, factor)}}
		for _, ch := range compared(t, earlier, later).Changes {
			if ch.Judged {
				return string(ch.Verdict)
			}
		}
		t.Fatal("nothing was judged")
		return ""
	}
	found("within a run", 1.10, 0.45, within)
	found("within a run", 1.25, 0.80, within)
	// 30 % is the least that counts between runs.
	found("between runs", 1.40, 0.65, between)
	found("between runs", 1.50, 0.90, between)
}

// Each scenario by itself.
func TestNoScenarioIsFarBelowTheOthers(t *testing.T) { onEach(t, nil, noScenarioIsFarBelowTheOthers) }

func noScenarioIsFarBelowTheOthers(t *testing.T, r *replay) {
	const tries, rounds = 2000, 15
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		same := 0
		for range tries {
			one, two := r.block(s.Passes[r.rng.IntN(len(s.Passes))], rounds)
			if stats.Compare(stats.Ratios(two, one)).Verdict == stats.Same {
				same++
			}
		}
		t.Logf("%s: ~ in %.1f of 100 tries", s.Name, float64(same)*100/tries)
		if tooFew(same, tries, 0.88) {
			t.Errorf("%s: ~ in %d of %d tries, far below what all scenarios together must reach", s.Name, same, tries)
		}
	}
}

// tooFew reports whether n of so many independent tries are too few for something that
// happens in the given share of them: a chance of 3 in 100,000 where it just does.
func tooFew(n, tries int, share float64) bool {
	mean := share * float64(tries)
	return float64(n) < mean-4*math.Sqrt(mean*(1-share))
}
