package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
)

func TestEveryCellIsMeasuredInEveryRound(t *testing.T) {
	for _, name := range Names() {
		l := newLab(t)
		f := small(t, name)
		var saved []byte
		if err := Measure(t.Context(), f, l.options(&saved)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if f.Missing() != 0 || f.Interrupted {
			t.Errorf("%s: %d runs are missing, interrupted %v", name, f.Missing(), f.Interrupted)
		}
		for round := 1; round <= f.Repeats; round++ {
			places := map[int]bool{}
			for i := range f.Cells {
				for _, r := range f.Cells[i].Runs {
					if r.Round == round {
						places[r.Place] = true
					}
				}
			}
			if len(places) != len(f.Cells) {
				t.Errorf("%s: round %d has places %v", name, round, places)
			}
		}
		distinct := map[string]bool{}
		for _, args := range l.started {
			if distinct[args] {
				t.Errorf("%s: started twice: %s", name, args)
			}
			distinct[args] = true
		}
		for i := range f.Cells {
			for _, g := range f.Figures {
				if _, floor, ok := f.Cells[i].Median(g.Name); !ok || floor {
					t.Errorf("%s: cell %v has no %s", name, f.Cells[i], g.Name)
				}
			}
		}
		if got, want := jsonOf(t, reload(t, saved)), jsonOf(t, f); got != want {
			t.Errorf("%s: what is saved at the end is not what is there", name)
		}
	}
}

func TestPlansAreThoseOfTheCells(t *testing.T) {
	l := newLab(t)
	f := small(t, RateDurability)
	if err := Measure(t.Context(), f, Options{Load: l.load, Start: l.start}); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, p := range l.plans {
		if p.Warmup+p.Duration != f.CellTime || p.PID != 7 || p.Protocol != load.Ack || p.Windows.Jitter > p.Duration {
			t.Errorf("%+v", p)
		}
		seen[fmt.Sprint(l.args[p.Target], " ", p.Rate, " ", p.Sizes.Min)]++
	}
	for _, want := range []string{
		"sink 127.0.0.1:0 --durability async 100 1024", "sink 127.0.0.1:0 --durability raft --trio 0 16384",
	} {
		if seen[want] != f.Repeats {
			t.Errorf("%d loads of %q in %v", seen[want], want, seen)
		}
	}

	l = newLab(t)
	if err := Measure(t.Context(), small(t, Buffer), Options{Load: l.load, Start: l.start}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(l.started)
	want := []string{
		"echo 127.0.0.1:0 --engine aio --buffer 4096", "echo 127.0.0.1:0 --engine aio --buffer 65536",
		"echo 127.0.0.1:0 --engine bufreader --buffer 4096", "echo 127.0.0.1:0 --engine bufreader --buffer 4096 --write-buffer 65536",
		"echo 127.0.0.1:0 --engine bufreader --buffer 65536", "echo 127.0.0.1:0 --engine bufreader --buffer 65536 --write-buffer 65536",
		"echo 127.0.0.1:0 --engine std --buffer 4096", "echo 127.0.0.1:0 --engine std --buffer 4096 --write-buffer 65536",
		"echo 127.0.0.1:0 --engine std --buffer 65536", "echo 127.0.0.1:0 --engine std --buffer 65536 --write-buffer 65536",
	}
	if !slices.Equal(l.started, want) {
		t.Errorf("started %q", l.started)
	}
}

// wild is honest, but that a few cells are far apart.
func wild(p load.Plan) (*load.Result, error) {
	r, err := honest(p)
	if rng := rand.New(rand.NewPCG(p.Seed, 2)); p.Conns == 16 && p.Sizes.Min == 64 {
		r.Throughput *= math.Exp(5 * rng.Float64())
	}
	return r, err
}

// jsonOf is what a file says but for the times that it was measured at.
func jsonOf(t *testing.T, f *File) string {
	t.Helper()
	same := *f
	same.Seconds, same.Started = 0, time.Time{}
	same.Cells = slices.Clone(f.Cells)
	for i := range same.Cells {
		same.Cells[i].Runs = slices.SortedFunc(slices.Values(f.Cells[i].Runs), func(a, b Run) int { return a.Round - b.Round })
	}
	text, err := json.Marshal(&same)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Interrupted before any of its runs ends, the file can be loaded, has whole runs,
// and gone on with it comes to what an uninterrupted grid has.
func TestResumingComesToTheSame(t *testing.T) {
	for _, name := range Names() {
		whole := small(t, name)
		l := newLab(t)
		l.answer = wild
		if err := Measure(t.Context(), whole, Options{Load: l.load, Start: l.start}); err != nil {
			t.Fatal(err)
		}
		runs := len(l.plans)
		for at := range runs {
			f := small(t, name)
			l := newLab(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			l.answer = func(p load.Plan) (*load.Result, error) {
				if len(l.plans) == at+1 && p.Duration != readyRun {
					cancel(errBroken)
					return &load.Result{Interrupted: true}, nil
				}
				return wild(p)
			}
			// Only what is saved last is written: the rest is the same for another at.
			var saved []byte
			o := l.options(&saved)
			write := o.Save
			o.Save = func(f *File) error {
				if len(l.plans) == at || !f.Interrupted {
					return write(f)
				}
				return nil
			}
			err := Measure(ctx, f, o)
			if !errors.Is(err, errBroken) {
				t.Fatalf("%s: interrupted in run %d: %v", name, at, err)
			}
			if at == 0 {
				if saved != nil {
					t.Errorf("%s: saved without a run", name)
				}
				continue
			}
			old := reload(t, saved)
			if !old.Interrupted || jsonOf(t, old) != jsonOf(t, f) {
				t.Errorf("%s: interrupted in run %d: what is saved is not what is there", name, at)
			}
			if err := old.Resume(name, 0); err != nil {
				t.Fatal(err)
			}
			l.answer = wild
			before := len(l.plans)
			if err := Measure(t.Context(), old, o); err != nil {
				t.Fatal(err)
			}
			if made := len(l.plans) - before; made != runs-at {
				t.Errorf("%s: interrupted in run %d, gone on with %d of %d", name, at, made, runs-at)
			}
			if got, want := jsonOf(t, reload(t, saved)), jsonOf(t, whole); got != want {
				t.Fatalf("%s: interrupted in run %d it comes to\n%s\nnot\n%s", name, at, got, want)
			}
		}
	}
}

func TestAnInvalidRunHasNoLatency(t *testing.T) {
	l := newLab(t)
	l.answer = func(p load.Plan) (*load.Result, error) {
		r, err := honest(p)
		r.Valid, r.Reasons = false, []load.Reason{{Code: load.GeneratorFull, Text: "the generator was out of CPU"}}
		if p.Conns == 16 {
			r.Valid, r.Errors, r.Error = true, 3, "reset by peer"
		}
		return r, err
	}
	f := small(t, SizeConns)
	if err := Measure(t.Context(), f, Options{Load: l.load, Start: l.start}); err != nil {
		t.Fatal(err)
	}
	for i := range f.Cells {
		c := &f.Cells[i]
		for _, r := range c.Runs {
			if r.Valid || len(r.Figures) != 2 || !strings.Contains(r.Reason, "CPU") && !strings.Contains(r.Reason, "3 requests") {
				t.Errorf("%s: %+v", f.label(c), r)
			}
		}
		if _, floor, ok := c.Median(Throughput); !floor || !ok {
			t.Errorf("%s: throughput is no lower bound", f.label(c))
		}
	}
	if f.AnyValid() {
		t.Error("an invalid run is valid")
	}
}

func TestATargetThatDoesNotTakeTheRateIsNoLowerBound(t *testing.T) {
	l := newLab(t)
	l.answer = func(p load.Plan) (*load.Result, error) {
		r, err := honest(p)
		if p.Rate > 0 {
			r.Valid, r.Latency, r.Shortfall, r.Reasons = false, nil, 0.5, []load.Reason{{Code: load.TargetBehind, Text: "the target does not take it"}}
			if p.Sizes.Max > 1024 {
				r.Late, r.Reasons = 0.5, append(r.Reasons, load.Reason{Code: load.GeneratorLate}) // the generator does not either
			}
		}
		return r, err
	}
	f := small(t, RateDurability)
	if err := Measure(t.Context(), f, Options{Load: l.load, Start: l.start}); err != nil {
		t.Fatal(err)
	}
	for i := range f.Cells {
		c := &f.Cells[i]
		behind := f.Rows.Values[c.Row] > 0 && f.Columns.Values[c.Column] == 1024
		_, floor, ok := c.Median(Throughput)
		if !ok || floor != (f.Rows.Values[c.Row] > 0 && !behind) || c.Runs[0].Behind != behind {
			t.Errorf("%s: %+v, floor %v", f.label(c), c.Runs[0], floor)
		}
	}
}

func TestWhatCannotGoOn(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*lab)
		says   string
		runs   int
	}{
		"a target that does not start": {func(l *lab) { l.startBy = func(Target) error { return errBroken } }, "lab sink", 0},
		"a target that has ended":      {func(l *lab) { l.ended = errBroken }, "has ended", 0},
		"loads that do not begin": {func(l *lab) {
			l.answer = func(p load.Plan) (*load.Result, error) {
				if p.Duration == readyRun {
					return honest(p)
				}
				return nil, errBroken
			}
		}, "rate", mostFailed - 1},
		"a plan that cannot be": {func(l *lab) {
			l.answer = func(p load.Plan) (*load.Result, error) {
				if p.Duration == readyRun {
					return honest(p)
				}
				return nil, fmt.Errorf("%w: %w", load.ErrPlan, errBroken)
			}
		}, "rate", 0},
	} {
		l := newLab(t)
		c.change(l)
		f := small(t, RateDurability)
		var saved []byte
		err := Measure(t.Context(), f, l.options(&saved))
		if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if made := len(f.Cells)*f.Repeats - f.Missing(); made != c.runs {
			t.Errorf("%s: %d runs are kept, want %d", name, made, c.runs)
		}
	}
	l := newLab(t)
	o := l.options(new([]byte))
	o.Save = func(*File) error { return errBroken }
	if err := Measure(t.Context(), small(t, Buffer), o); !errors.Is(err, errBroken) {
		t.Errorf("a file that cannot be saved: %v", err)
	}
}

func TestATargetThatKeepsTooMuchIsStartedAfresh(t *testing.T) {
	l := newLab(t)
	l.kept = mostKept + 1
	f := small(t, RateDurability)
	if err := Measure(t.Context(), f, Options{Load: l.load, Start: l.start}); err != nil {
		t.Fatal(err)
	}
	if len(l.started) != len(l.plans) {
		t.Errorf("%d starts for %d runs", len(l.started), len(l.plans))
	}
}

func TestATargetIsWaitedForUntilItAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		began := time.Now()
		l.answer = func(p load.Plan) (*load.Result, error) {
			if time.Since(began) < 2*time.Second {
				return nil, errBroken // no leader yet
			}
			return honest(p)
		}
		f := small(t, RateDurability)
		if err := Measure(t.Context(), f, Options{Load: l.load, Start: l.start}); err != nil {
			t.Fatal(err)
		}
		if !f.AnyValid() || f.Cells[0].Runs[0].Reason != "" {
			t.Errorf("%+v", f.Cells[0])
		}

		l = newLab(t)
		l.answer = func(load.Plan) (*load.Result, error) { return nil, errBroken }
		if err := Measure(t.Context(), small(t, RateDurability), Options{Load: l.load, Start: l.start}); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "does not answer") {
			t.Errorf("a target without an answer: %v", err)
		}
	})
}

// pass lets virtual time go by.
func pass(d time.Duration) { <-time.After(d) }

func TestTheLimitOfTimeIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.answer = func(p load.Plan) (*load.Result, error) {
			pass(p.Warmup + p.Duration + 20*time.Millisecond)
			return honest(p)
		}
		f := small(t, SizeConns)
		began := time.Now()
		o := Options{Load: l.load, Start: l.start, Limit: 10 * time.Second}
		err := Measure(t.Context(), f, o)
		if !errors.Is(err, ErrTime) || !f.Interrupted || len(l.plans) != 9 {
			t.Errorf("%v after %d runs", err, len(l.plans))
		}
		if took := time.Since(began); took > o.Limit {
			t.Errorf("took %v", took)
		}
		// Gone on with.
		var events []Event
		o.Limit = 16 * time.Second
		o.Progress = func(e Event) { events = append(events, e) }
		if err := Measure(t.Context(), f, o); err != nil || f.Missing() != 0 || f.Interrupted {
			t.Errorf("%v, %d missing", err, f.Missing())
		}
		if first, last := events[0], events[len(events)-1]; first.Done != 0 || first.Total != 15 || last.Done != 14 || last.Left > 2*time.Second || first.Left < 14*time.Second {
			t.Errorf("from %+v to %+v", first, last)
		}
	})
}

func TestQuickTakesAMinuteAtMost(t *testing.T) {
	for _, name := range Names() {
		f, err := New(name, Choice{Quick: true})
		if err != nil || f.Estimate() > 55*time.Second {
			t.Errorf("%s: --quick takes %v, %v", name, f.Estimate(), err)
		}
	}
}
