package report

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/load"
)

// crowdedRuns are closed loops of 8 s on lab echo, recorded one after the other on two processors while tests and
// compilers of others had a load average of 16 to 22, in two forms:
//
//	lab load --conns 16 --duration 8s --warmup 500ms --pid $server 127.0.0.1:7000
//	lab load --duration 8s --warmup 500ms 127.0.0.1:7000
func crowdedRuns(t *testing.T) map[string][]*load.Result {
	t.Helper()
	text, err := os.ReadFile("testdata/crowded.json")
	var recorded map[string][]struct {
		Queued  int     `json:"queued_ms"` // by the generator
		Gap     int     `json:"gap_ms"`
		Whole   []int   `json:"whole_us"` // P50, P99, P99.9
		Windows [][]int `json:"windows"`  // P50, P99, P99.9, requests, milliseconds crowded
	}
	if err == nil {
		err = json.Unmarshal(text, &recorded)
	}
	if err != nil {
		t.Fatal(err)
	}
	us := func(n int) time.Duration { return time.Duration(n) * time.Microsecond }
	runs := map[string][]*load.Result{}
	for name, list := range recorded {
		for _, c := range list {
			queued := us(c.Queued * 1000)
			r := &load.Result{Valid: true, Plan: load.Default(), Measured: 8 * time.Second, Gap: us(c.Gap * 1000)}
			r.Generator.Queued = &queued
			r.Latency = &load.Distribution{Count: 1, P50: us(c.Whole[0]), P99: us(c.Whole[1]), P999: us(c.Whole[2])}
			for i, w := range c.Windows {
				at, crowded := time.Duration(i+1)*time.Second, us(w[4]*1000)
				r.Due = append(r.Due, load.DueWindow{At: at, P50: us(w[0]), P99: us(w[1]), P999: us(w[2])})
				r.Series = append(r.Series, load.Second{At: at, Requests: uint64(w[3]), Crowded: &crowded})
			}
			runs[name] = append(runs[name], r)
		}
	}
	return runs
}

// Two runs of one program on a crowded machine are no difference, in 99 of 100 pairs; a fault that is larger than
// what crowding does is found all the same.
func TestACrowdedMachineIsNoDifference(t *testing.T) {
	calm := 0.2
	for _, c := range []struct {
		name   string
		fault  func(r *load.Result)
		figure string
		least  float64 // part of the pairs that say so; 0: none does, in 99 of 100
	}{
		{"the same", func(*load.Result) {}, "", 0},
		{"a second without an answer", func(r *load.Result) { r.Gap, r.GapCrowded = time.Second, &calm }, "longest time without an answer", 0.9},
		{"300 ms without an answer", func(r *load.Result) { r.Gap, r.GapCrowded = 300*time.Millisecond, &calm }, "longest time without an answer", 0.2}, // others kept the earlier run for 100 ms and more
		{"a fifth as fast", func(r *load.Result) {
			for i := range r.Series {
				r.Series[i].Requests /= 5
			}
		}, "requests", 0.65},
		{"tails of thirty times the length", func(r *load.Result) {
			r.Latency.P99, r.Latency.P999 = 30*r.Latency.P99, 30*r.Latency.P999
			for i := range r.Due {
				r.Due[i].P99, r.Due[i].P999 = 30*r.Due[i].P99, 30*r.Due[i].P999
			}
		}, "P99", 0.65},
	} {
		tries, found := 0, 0
		for form, runs := range crowdedRuns(t) {
			for i, a := range runs {
				for j, b := range crowdedRuns(t)[form] {
					if i == j {
						continue
					}
					c.fault(b)
					got := compareLoads(t, a, b)
					tries++
					if slices.ContainsFunc(got.Changes, func(ch Change) bool {
						return ch.Verdict == Worse && (c.figure == "" || ch.Figure == c.figure) || ch.Verdict == Better && c.figure == ""
					}) {
						found++
					}
				}
			}
		}
		t.Logf("%s: found in %d of %d pairs", c.name, found, tries)
		if c.least == 0 && found > tries/100 || found < int(c.least*float64(tries)) {
			t.Errorf("%s: found in %d of %d pairs", c.name, found, tries)
		}
	}
}

// A server that others keep from a processor has more requests waiting at each wake-up, and spends less on each.
func TestTheCPUOfARequestOnACrowdedMachineIsUndecided(t *testing.T) {
	run := func(cpu float64, queued time.Duration) *Result {
		r := loadFixture(1, 1, 1)
		r.Generator.Queued, r.Target = &queued, &load.Use{CPUPerOp: cpu}
		return opened(t, "r", r)
	}
	const quiet, busy, busier = time.Second, 6 * time.Second, 12 * time.Second // of 30
	for _, c := range []struct {
		earlier, later *Result
		want           Verdict
	}{
		{run(40_000, busier), run(79_000, quiet), Unsure},
		{run(79_000, quiet), run(40_000, busier), Unsure},
		{run(40_000, busy), run(79_000, busy), Unsure},
		{run(40_000, busy), run(130_000, busy), Worse},
		{run(40_000, quiet), run(79_000, quiet), Worse},
	} {
		if ch := change(t, mustCompare(t, c.earlier, c.later, Options{}), "load", "CPU/request of the target"); ch.Verdict != c.want {
			t.Errorf("%v to %v: %s (%s), not %s", ch.Old, ch.New, ch.Verdict, ch.Doubt, c.want)
		}
	}
}

// A stall is named from half a second on, and earlier where others kept neither side from a processor; not where each
// answer takes as long.
func TestAStallIsNamed(t *testing.T) {
	alone, crowded := 0.1, 1.7
	for _, c := range []struct {
		gap, median time.Duration
		crowded     *float64
		want        bool
	}{
		{300 * time.Millisecond, time.Millisecond, &alone, true},
		{300 * time.Millisecond, time.Millisecond, &crowded, false},
		{300 * time.Millisecond, time.Millisecond, nil, false},
		{600 * time.Millisecond, time.Millisecond, &crowded, true},
		{600 * time.Millisecond, 580 * time.Millisecond, &alone, false},
		{200 * time.Millisecond, time.Millisecond, &alone, false},
	} {
		r := loadFixture(1, 1, 1)
		r.Gap, r.GapCrowded, r.Latency.P50 = c.gap, c.crowded, c.median
		named := slices.ContainsFunc(LoadResult(r), func(item document.Item) bool {
			p, ok := item.(*document.Para)
			return ok && p.Mark == "STALL"
		})
		if named != c.want {
			t.Errorf("%+v: named %v", c, named)
		}
	}
}

func TestConnectionsThatTakeLongAreNamed(t *testing.T) {
	for took, want := range map[time.Duration]bool{900 * time.Millisecond: false, 16 * time.Second: true} {
		r := loadFixture(1, 1, 1)
		r.Connecting = took
		facts := LoadResult(r)[0].(*document.Facts)
		if named := slices.ContainsFunc(facts.List, func(f document.Fact) bool { return f.Name == "connecting" }); named != want {
			t.Errorf("%v: named %v", took, named)
		}
	}
}
