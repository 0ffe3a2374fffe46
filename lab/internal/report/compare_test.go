package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/measure"
	"github.com/sluice-go/sluice/lab/internal/stats"
)

// change finds one row.
func change(t *testing.T, c *Comparison, item, figure string) Change {
	t.Helper()
	for _, ch := range c.Changes {
		if ch.Item == item && ch.Figure == figure {
			return ch
		}
	}
	t.Fatalf("no %s of %s among %d rows", figure, item, len(c.Changes))
	return Change{}
}

func mustCompare(t *testing.T, earlier, later *Result, o Options) *Comparison {
	t.Helper()
	c, err := Compare(earlier, later, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// benchWith is the fixture with the time of one variant changed in every round, or of
// all of them.
func benchWith(factor float64, names ...string) *File {
	f := fixture()
	o := &f.Scenarios[0]
	for i := range o.Variants {
		for _, name := range names {
			if o.Variants[i].Name == name {
				for _, call := range o.Variants[i].Calls {
					call.Figures["ns/op"] *= factor
				}
			}
		}
	}
	return f
}

func TestBenchIsComparedByRatiosWithinRuns(t *testing.T) {
	old := opened(t, "old.json", fixture())
	c := mustCompare(t, old, opened(t, "new.json", benchWith(1.4, "next")), Options{})
	next := change(t, c, "framing/good next", "time/frame to peek")
	if next.Verdict != "worse" || next.Ratio == nil || next.Ratio.Median < 1.35 || next.Ratio.Median > 1.45 || c.Regressions != 1 {
		t.Errorf("%d regressions, %+v", c.Regressions, next)
	}
	c = mustCompare(t, old, opened(t, "new.json", benchWith(0.6, "next")), Options{})
	if next := change(t, c, "framing/good next", "time/frame to peek"); next.Verdict != "better" || c.Regressions != 0 {
		t.Errorf("%d regressions, %+v", c.Regressions, next)
	}
	// A machine that is twice as slow is no regression, and the baseline's own
	// time is shown and not judged.
	c = mustCompare(t, old, opened(t, "new.json", benchWith(2, "naive", "peek", "next")), Options{})
	peek := change(t, c, "framing/good peek", "time/frame")
	if c.Regressions+c.Better != 0 || peek.Judged || peek.Verdict != "" || peek.row().Cells[4].Text != "2.00" {
		t.Errorf("%d regressions, %+v", c.Regressions, peek)
	}
	// Below what counts.
	if c = mustCompare(t, old, opened(t, "new.json", benchWith(1.15, "next")), Options{}); c.Regressions != 0 {
		t.Errorf("15 %% more is a regression")
	}
	if c = mustCompare(t, old, opened(t, "new.json", benchWith(1.15, "next")), Options{AtLeast: 0.05}); c.Regressions != 1 {
		t.Errorf("15 %% more is none with --at-least 5")
	}
}

func TestAllocationsAreComparedAsTheyAre(t *testing.T) {
	f := fixture()
	for _, call := range f.Scenarios[0].Variants[2].Calls {
		call.Figures["allocs/op"] = 1
		call.Figures["B/op"] = 0.4 // the runtime's own
	}
	c := mustCompare(t, opened(t, "old", fixture()), opened(t, "new", f), Options{})
	allocs := change(t, c, "framing/good next", "allocs/frame")
	if allocs.Verdict != "worse" || allocs.row().Cells[3].Text != "1" || c.Regressions != 1 {
		t.Errorf("%d regressions, %+v", c.Regressions, allocs)
	}
	var b strings.Builder
	document.NewPrinter(&b, false).Print(c.Items()...)
	for _, want := range []string{"WORSE", "not judged", "1 worse, 0 better"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// What is allocated once a round is no more because a round has fewer operations, as on a busy machine; what each
// operation allocates is.
func TestAllocationsOfARoundAreNotThoseOfAnOperation(t *testing.T) {
	with := func(ops int, each, round float64) *Result {
		f := fixture()
		f.Scenarios[0].Ops = ops
		for _, call := range f.Scenarios[0].Variants[2].Calls {
			call.Figures["allocs/op"] = each + round/float64(ops)
		}
		return opened(t, "r", f)
	}
	for _, c := range []struct {
		earlier, later *Result
		want           Verdict
	}{
		{with(1000, 0, 200), with(400, 0, 200), Same},
		{with(400, 0, 200), with(1000, 0, 200), Same},
		{with(1000, 1, 0), with(400, 1, 0), Same},
		{with(1000, 1, 0), with(1000, 2, 0), Worse},
		{with(1000, 1, 0), with(700, 3, 0), Worse},
		{with(1000, 1, 0), with(500, 2, 0), Worse},
		{with(1000, 0, 200), with(1000, 0, 600), Worse},
	} {
		if ch := change(t, mustCompare(t, c.earlier, c.later, Options{}), "framing/good next", "allocs/frame"); ch.Verdict != c.want {
			t.Errorf("%v to %v is %s, want %s", ch.Old, ch.New, ch.Verdict, c.want)
		}
	}
}

func TestAScenarioThatFailsNowIsARegression(t *testing.T) {
	f := fixture()
	f.Scenarios[0].State, f.Scenarios[0].Reason, f.Scenarios[0].Rounds = measure.Failed, "it broke", 0
	c := mustCompare(t, opened(t, "old", fixture()), opened(t, "new", f), Options{})
	if ch := change(t, c, "framing/good", "it failed"); ch.Verdict != "worse" || c.Regressions != 1 {
		t.Errorf("%+v", c)
	}
	// One that was not run says nothing.
	f.Scenarios = f.Scenarios[1:]
	c = mustCompare(t, opened(t, "old", fixture()), opened(t, "new", f), Options{})
	if c.Regressions != 0 || !strings.Contains(strings.Join(c.Notes, " "), "framing/good") {
		t.Errorf("%+v", c)
	}
}

func TestLoadsAreCompared(t *testing.T) {
	old := opened(t, "old", loadFixture(1, 1, 1))
	for _, c := range []struct {
		speed, tail float64
		worse       []string
	}{
		{1, 1, nil},
		{0.9, 1.1, []string{"requests"}}, // an open loop is sure of its rate
		{0.5, 1, []string{"requests", "CPU/request of the target"}},
		{1, 4, []string{"P99", "P99.9"}},
		{1.6, 1, nil},
	} {
		got := mustCompare(t, old, opened(t, "new", loadFixture(c.speed, c.tail, 7)), Options{})
		var worse []string
		for _, ch := range got.Changes {
			if ch.Verdict == "worse" {
				worse = append(worse, ch.Figure)
			}
		}
		if fmt.Sprint(worse) != fmt.Sprint(c.worse) || got.Regressions != len(c.worse) {
			t.Errorf("speed %v, tail %v: worse are %v, want %v", c.speed, c.tail, worse, c.worse)
		}
	}
	// One value on each side has no interval.
	c := mustCompare(t, old, opened(t, "new", loadFixture(1, 1, 7)), Options{})
	if ch := change(t, c, "load", "CPU/request of the target"); ch.Ratio != nil || ch.Verdict != "~" || ch.row().Cells[4].Text != "1.00" {
		t.Errorf("%+v", ch)
	}
}

// Tails of a run whose machine was busy with something else are not the target's.
func TestTailsOfABusyMachineAreUndecided(t *testing.T) {
	run := func(tail float64, queued time.Duration) *Result {
		r := loadFixture(1, tail, 1)
		r.Latency.P50, r.Generator.Queued = 90*time.Microsecond, &queued
		return opened(t, "r", r)
	}
	const quiet, busy = time.Second, 6 * time.Second // of 30
	for _, c := range []struct {
		name            string
		earlier, later  *Result
		p99             Verdict
		worse, improved int
	}{
		{"quiet", run(1, quiet), run(4, quiet), Worse, 2, 0},
		{"busier", run(1, quiet), run(4, busy), Unsure, 0, 0},
		{"busy as before", run(1, busy), run(4, busy), Unsure, 0, 0},
		{"busy as before, and far slower", run(1, busy), run(20, busy), Worse, 2, 0},
		{"was busier", run(4, busy), run(1, quiet), Unsure, 0, 0},
		{"busier and faster", run(4, quiet), run(1, busy), Better, 0, 2},
	} {
		got := mustCompare(t, c.earlier, c.later, Options{})
		ch := change(t, got, "load", "P99")
		if ch.Verdict != c.p99 || (ch.Doubt != "") != (c.p99 == Unsure) || got.Regressions != c.worse || got.Better < c.improved {
			t.Errorf("%s: %+v, %d worse, %d better", c.name, ch, got.Regressions, got.Better)
		}
	}
}

func TestWhatCannotBeCompared(t *testing.T) {
	change := func(f func(*load.Result)) *Result {
		r := loadFixture(1, 1, 1)
		f(r)
		return opened(t, "new", r)
	}
	old := opened(t, "old", loadFixture(1, 1, 1))
	for name, c := range map[string]struct {
		later  *Result
		says   string
		forced bool // it can be, when asked for
	}{
		"another processor":  {change(func(r *load.Result) { r.Machine.CPU = "Other" }), "another machine: processor", true},
		"another GOMAXPROCS": {change(func(r *load.Result) { r.Machine.GOMAXPROCS = 1 }), "GOMAXPROCS was 2, is 1", true},
		"other connections":  {change(func(r *load.Result) { r.Plan.Conns = 1 }), "another plan: the number of connections", true},
		"another rate":       {change(func(r *load.Result) { r.Plan.Rate = 0 }), "closed loop", true},
		"another protocol":   {change(func(r *load.Result) { r.Plan.Target = "http://127.0.0.1:1/" }), "another plan: the protocol was frame, is http", true},
		"invalid":            {opened(t, "new", invalidLoad()), "invalid", false},
		"another kind":       {opened(t, "new", matrixFixture(1, 1)), "matrix", false},
	} {
		_, err := Compare(old, c.later, Options{})
		if !errors.Is(err, ErrNotComparable) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v does not say %q", name, err, c.says)
		}
		forced, err := Compare(old, c.later, Options{Force: true})
		if (err == nil) != c.forced {
			t.Errorf("%s with force: %v", name, err)
		}
		if err != nil {
			continue
		}
		var b strings.Builder
		document.NewPrinter(&b, false).Print(forced.Items()...)
		if !strings.Contains(b.String(), "COMPARED ALL THE SAME") {
			t.Errorf("%s:\n%s", name, b.String())
		}
	}
	d := opened(t, "d", diagnosisFixture())
	if _, err := Compare(d, d, Options{Force: true}); !errors.Is(err, ErrNotComparable) {
		t.Errorf("two diagnoses: %v", err)
	}
	quick := fixture()
	quick.Mode = "quick"
	if _, err := Compare(opened(t, "old", fixture()), opened(t, "new", quick), Options{}); !errors.Is(err, ErrNotComparable) {
		t.Errorf("another mode: %v", err)
	}
	grid := opened(t, "m", matrixFixture(1, 1))
	if _, err := Compare(grid, grid, Options{Force: true}); !errors.Is(err, ErrNotComparable) {
		t.Errorf("two grids: %v", err)
	}
	// Another kernel is worth a note and no more.
	c := mustCompare(t, old, change(func(r *load.Result) { r.Machine.Kernel = "6.2" }), Options{})
	if !strings.Contains(strings.Join(c.Notes, " "), "kernel was 6.1, is 6.2") {
		t.Errorf("%v", c.Notes)
	}
}

// Texts that say why something is no difference have to agree with what was judged by.
func TestWhatCountsIsSaidForEachFigure(t *testing.T) {
	old := opened(t, "old.json", loadFixture(1, 1, 1))
	for _, o := range []struct {
		options Options
		says    string
	}{
		{Options{}, "at least 45 %, of requests 3 %, of P50, P99, P99.9 60 %, and"},
		{Options{AtLeast: 0.1}, "at least 10 %, and"},
	} {
		c := mustCompare(t, old, opened(t, "new.json", loadFixture(1, 1, 1)), o.options)
		if note := c.Items()[1].(*document.Para).Text; !strings.Contains(note, o.says) {
			t.Errorf("%q does not say %q", note, o.says)
		}
	}
	for _, c := range []struct {
		lo, hi float64
		says   string
	}{{0.9, 2, "in few of them"}, {1.4, 2, "a longer run"}} {
		ch := Change{Sample: Sample{Figure: "P99.9", Unit: "p99.9-ns", Least: 0.6}, Old: 1e6, New: 2e6, Ratio: &stats.Interval{Median: 1.5, Lo: c.lo, Hi: c.hi}, Verdict: Same, whole: true}
		if under := strings.Join(ch.row().Under, " "); !strings.Contains(under, c.says) {
			t.Errorf("%v to %v: %q does not say %q", c.lo, c.hi, under, c.says)
		}
	}
}

func TestTheComparisonAsJSON(t *testing.T) {
	c := mustCompare(t, opened(t, "old.json", loadFixture(1, 1, 1)), opened(t, "new.json", loadFixture(0.5, 1, 2)), Options{})
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(c); err != nil {
		t.Fatal(err)
	}
	var read Comparison
	if err := json.Unmarshal(b.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	if read.Kind != "comparison" || read.Of != KindLoad || read.Regressions != c.Regressions || len(read.Changes) != len(c.Changes) || read.Rule == "" || read.AtLeast != LeastFigure {
		t.Errorf("%+v", read)
	}
}

// Rounds that are missing a cell do not make the mean of a layer lean.

// What only benchmark text has is no row of a comparison: of a whole bench there would be a thousand.
func TestRawFiguresAreNotCompared(t *testing.T) {
	for name, r := range map[string]*Result{"bench": opened(t, "b.json", fixture()), "load": opened(t, "l.json", loadFixture(1, 1, 1))} {
		raw := map[string]bool{}
		for _, g := range r.Groups() {
			for _, s := range g.Samples {
				if s.Role == Raw {
					raw[g.Item+" "+s.Figure] = true
				}
			}
		}
		c := mustCompare(t, r, r, Options{})
		for _, ch := range c.Changes {
			if raw[ch.Item+" "+ch.Figure] {
				t.Errorf("%s: %s of %s is compared", name, ch.Figure, ch.Item)
			}
		}
		if len(raw) == 0 {
			t.Errorf("%s has no raw figures", name)
		}
	}
}

// Nothing worse among rows of which most could not be judged says little: the last line says how many.
func TestUndecidedRowsAreCounted(t *testing.T) {
	last := func(c *Comparison) string {
		var b bytes.Buffer
		document.NewPrinter(&b, false).Print(c.Items()...)
		return b.String()
	}
	short := loadFixture(1, 1, 1)
	short.Due, short.Series = short.Due[:2], short.Series[:2]
	c := mustCompare(t, opened(t, "old.json", short), opened(t, "new.json", short), Options{})
	undecided := 0
	for _, ch := range c.Changes {
		if ch.Verdict == Unsure {
			undecided++
		}
	}
	if text := last(c); undecided == 0 || !strings.Contains(text, fmt.Sprintf("~; %d undecided", undecided)) || !strings.Contains(text, "too few values") {
		t.Errorf("%d are undecided:\n%s", undecided, text)
	}
	whole := mustCompare(t, opened(t, "old.json", loadFixture(1, 1, 1)), opened(t, "new.json", loadFixture(1, 1, 1)), Options{})
	if text := last(whole); strings.Contains(text, "undecided") {
		t.Errorf("nothing is undecided:\n%s", text)
	}
}
