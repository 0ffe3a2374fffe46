package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/measure"
	"github.com/sluice-go/sluice/lab/internal/stats"
)

func TestJSONKeepsEverything(t *testing.T) {
	f := fixture()
	var b bytes.Buffer
	if err := f.Save(&b); err != nil {
		t.Fatal(err)
	}
	r, err := Read(bytes.NewReader(b.Bytes()), "x")
	if err != nil {
		t.Fatal(err)
	}
	got := r.Bench
	if !reflect.DeepEqual(got, f) {
		t.Errorf("read back:\n%+v\nwritten:\n%+v", got, f)
	}
	// Sums of 64 bits survive readers of JSON that know floating point only.
	for _, want := range []string{`"check": "9223372036854788153"`, `"seed": "9223372036854775815"`, `"summaries"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in the JSON", want)
		}
	}
}

func TestJSONHasTheSummariesForScripts(t *testing.T) {
	var b bytes.Buffer
	if err := fixture().Save(&b); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Summaries []struct {
			Scenario string
			Rows     []struct {
				Variant, Verdict string
				Ratio            *struct{ Median, Lo, Hi, Coverage float64 }
			}
			Targets []struct{ Variant, Status string }
		}
	}
	if err := json.Unmarshal(b.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	good := read.Summaries[0]
	next := good.Rows[2]
	if next.Variant != "next" || next.Verdict != "less" || next.Ratio.Median < 0.78 || next.Ratio.Median > 0.82 || next.Ratio.Coverage < 0.95 {
		t.Errorf("next is %+v, %+v", next, next.Ratio)
	}
	if good.Rows[1].Ratio != nil {
		t.Error("the baseline has a ratio to itself")
	}
	if good.Targets[0].Status != "met" || good.Targets[3].Status != "undecided" {
		t.Errorf("targets %+v", good.Targets)
	}
}

func TestOnlyResultsFilesAreLoaded(t *testing.T) {
	damaged := func(change func(*File)) string {
		f := fixture()
		change(f)
		var b bytes.Buffer
		if err := f.Save(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"nothing":         "",
		"no JSON":         "<html>",
		"other JSON":      `{"name": "x"}`,
		"a later version": damaged(func(f *File) { f.Schema = Schema + 1 }),
		"a round is gone": damaged(func(f *File) { f.Scenarios[0].Variants[0].Calls = f.Scenarios[0].Variants[0].Calls[1:] }),
		"no baseline":     damaged(func(f *File) { f.Scenarios[0].Baseline = "gone" }),
	} {
		if _, err := Read(strings.NewReader(text), "x"); !errors.Is(err, ErrSchema) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Read(strings.NewReader(`{"name": "x", "version": "1.0"}`), "x"); !strings.Contains(err.Error(), "no \"schema\"") {
		t.Errorf("other JSON is taken for a result of an early version: %v", err)
	}
}

func TestWritersSayWhenTheyCannotWrite(t *testing.T) {
	f := fixture()
	table := func(w *failing) error {
		p := document.NewPrinter(w, false)
		p.Print(Scenario(&f.Scenarios[0]))
		return p.Err()
	}
	for name, write := range map[string]func(*failing) error{
		"JSON":      func(w *failing) error { return f.Save(w) },
		"benchstat": func(w *failing) error { return writeBench(f, w) },
		"HTML":      func(w *failing) error { return f.WriteHTML(w) },
		"table":     table,
	} {
		if err := write(&failing{left: 100}); !errors.Is(err, errFull) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

var errFull = errors.New("disk full")

type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestTargets(t *testing.T) {
	o := &fixture().Scenarios[0]
	judge := func(target lab.Target) TargetResult {
		o.Targets = []lab.Target{target}
		return Summarize(o).Targets[0]
	}
	for _, c := range []struct {
		target lab.Target
		want   Status
	}{
		{lab.Target{Variant: "next", Against: "peek", AtMost: 0.85}, Met},
		{lab.Target{Variant: "next", Against: "peek", AtMost: 0.75}, Missed},
		{lab.Target{Variant: "next", Against: "naive", AtMost: 0.11}, Met},
		{lab.Target{Variant: "next", AtMost: 66}, Met},
		{lab.Target{Variant: "next", AtMost: 63}, Missed},
		{lab.Target{Variant: "next", Metric: "B/op", AtMost: 0}, Met}, // 0.2 B is none
		{lab.Target{Variant: "next", Metric: "syscalls/op", AtMost: 0}, Missed},
		{lab.Target{Variant: "next", Metric: "gc-runs", Against: "peek", AtMost: 1}, Undecided}, // 0 to 0
		{lab.Target{Variant: "next", Metric: "unknown", AtMost: 1}, Undecided},
		{lab.Target{Variant: "splice", Against: "peek", AtMost: 1}, Undecided},
		{lab.Target{Variant: "next", Metric: measure.MBPerS, Against: "peek", AtLeast: 1.2}, Met},
		{lab.Target{Variant: "next", Metric: measure.MBPerS, Against: "peek", AtLeast: 1.3}, Missed},
		{lab.Target{Variant: "next", Metric: measure.MBPerS, AtLeast: 9000}, Met},
		{lab.Target{Variant: "next", Metric: measure.MBPerS, AtLeast: 12000}, Missed},
	} {
		if got := judge(c.target); got.Status != c.want {
			t.Errorf("%s: %s with %+v, want %s", got.Promise(), got.Status, got.Value, c.want)
		}
	}
	exactly := judge(lab.Target{Variant: "next", Metric: measure.MBPerS, AtLeast: 1}).Value
	for _, target := range []lab.Target{
		{Variant: "next", Metric: measure.MBPerS, AtLeast: exactly.Lo}, {Variant: "next", Metric: measure.MBPerS, AtMost: exactly.Hi},
	} {
		if got := judge(target); got.Status != Met {
			t.Errorf("%s: %s with exactly that", got.Promise(), got.Status)
		}
	}
	// A bound within the interval decides nothing, nor do five rounds.
	in := judge(lab.Target{Variant: "next", Against: "peek"}).Value
	between := lab.Target{Variant: "next", Against: "peek", AtMost: (in.Median + in.Hi) / 2}
	if got := judge(between); got.Status != Undecided || got.Why != OnBound {
		t.Errorf("within the interval: %+v", got)
	}
	for rounds := stats.Fewest; rounds >= stats.Fewest-1; rounds-- {
		for i := range o.Variants {
			o.Variants[i].Calls = o.Variants[i].Calls[:min(rounds, len(o.Variants[i].Calls))]
		}
		o.Rounds = rounds
		few := judge(lab.Target{Variant: "next", Against: "naive", AtMost: 0.5})
		if enough := rounds >= stats.Fewest; enough != (few.Status == Met) || enough == (few.Why == FewRounds) {
			t.Errorf("%d rounds: %+v", rounds, few)
		}
	}
}

func TestPromisesInWords(t *testing.T) {
	for want, target := range map[string]lab.Target{
		"a: at most 0.85 of b":        {Variant: "a", Against: "b", AtMost: 0.85},
		"a: req/s at least 1.20 of b": {Variant: "a", Against: "b", Metric: "req/s", AtLeast: 1.2},
		"a: rss-B/conn at most 700 B": {Variant: "a", Metric: "rss-B/conn", AtMost: 700},
		"a: req/s at least 150,000":   {Variant: "a", Metric: "req/s", AtLeast: 150_000},
		"a: p50-ns at most 0 ns":      {Variant: "a", Metric: "p50-ns"},
	} {
		if got := (TargetResult{Target: target}).Promise(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestABoundFromBelowIsSaid(t *testing.T) {
	o := &fixture().Scenarios[0]
	o.Metric = measure.MBPerS
	o.Targets = []lab.Target{{Variant: "next", Against: "peek", AtLeast: 1.2}, {Variant: "naive", Against: "peek", AtLeast: 0.5}}
	var b strings.Builder
	document.NewPrinter(&b, false).Print(Scenario(o))
	for _, want := range []string{"met  next: at least 1.20 of peek", "MISSED: 0.13  naive: "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
