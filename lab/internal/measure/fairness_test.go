package measure

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/proc"
)

func TestUnequalWorkIsInvalidAndHasNoFigures(t *testing.T) {
	for name, cheat := range map[string]func(lab.Sample) lab.Sample{
		"bytes": func(s lab.Sample) lab.Sample { s.Bytes--; return s },
		"sum":   func(s lab.Sample) lab.Sample { s.Check ^= 0x10; return s },
	} {
		l := &ledger{}
		rounds := 0
		liar := l.variant("liar", func(ops int) (lab.Sample, error) {
			sample, err := honest(1)(ops)
			if rounds++; rounds > 12 {
				sample = cheat(sample)
			}
			return sample, err
		})
		s := scenario("a", l.variant("base", honest(1)), liar)
		s.Fixed, s.Ops = true, 100
		o := mustRun(t, small(20), s)[0]
		if o.State != Invalid || o.Rounds != 0 || o.Measured() {
			t.Fatalf("%s: state %s with %d rounds", name, o.State, o.Rounds)
		}
		for _, v := range o.Variants {
			if len(v.Calls) != 0 {
				t.Errorf("%s: %s still has %d calls", name, v.Name, len(v.Calls))
			}
		}
		want := map[string]string{
			"bytes": "liar consumed 799 bytes with sum 0x12c, base 800 bytes with sum 0x12c",
			"sum":   "liar consumed 800 bytes with sum 0x13c, base 800 bytes with sum 0x12c",
		}[name]
		if !strings.Contains(o.Reason, want) {
			t.Errorf("%s: reason %q does not say %q", name, o.Reason, want)
		}
	}
}

func TestAnErrorFailsItsScenarioOnly(t *testing.T) {
	broken := errors.New("the wire broke")
	l := &ledger{}
	fine := l.variant("fine", honest(1))
	opens := lab.Variant{Name: "opens", Open: func(lab.Env) (lab.Runner, error) { return nil, broken }}
	runs := l.variant("runs", func(int) (lab.Sample, error) { return lab.Sample{}, broken })
	closes := lab.Variant{Name: "closes", Open: func(lab.Env) (lab.Runner, error) {
		return &synthetic{ledger: l, work: honest(1), close: broken}, nil
	}}
	outcomes := mustRun(t, small(2),
		scenario("opens", fine, opens), scenario("runs", fine, runs), scenario("closes", fine, closes), scenario("fine", fine))
	for i, want := range []string{"opens: open: the wire broke", "runs: the wire broke", "closes: close: the wire broke"} {
		if o := outcomes[i]; o.State != Failed || o.Reason != want || o.Measured() {
			t.Errorf("%s: %s, %q", o.Name, o.State, o.Reason)
		}
	}
	if o := outcomes[3]; o.State != Done || o.Rounds != 2 {
		t.Errorf("the scenario after them: %s, %q", o.State, o.Reason)
	}
	if len(l.closed) != 6 {
		t.Errorf("%d runners were closed, 6 were opened: %v", len(l.closed), l.closed)
	}
}

func TestWhatThePlatformLacksIsLeftOut(t *testing.T) {
	l := &ledger{}
	missing := lab.Variant{Name: "missing", Open: func(lab.Env) (lab.Runner, error) {
		return nil, fmt.Errorf("splice: %w", errors.ErrUnsupported)
	}}
	fine := l.variant("fine", honest(1))
	outcomes := mustRun(t, small(2), scenario("a", fine, missing, l.variant("other", honest(1))), scenario("b", missing, fine))
	a, b := outcomes[0], outcomes[1]
	if v, _ := a.Variant("missing"); a.State != Done || len(v.Calls) != 0 || !strings.Contains(v.Skipped, "splice") {
		t.Errorf("%s: %q, %+v", a.State, a.Reason, v)
	}
	if v, _ := a.Variant("other"); len(v.Calls) != 2 || v.Values(lab.NsPerOp) == nil {
		t.Errorf("the variant after it: %+v", v)
	}
	if b.State != Skipped || !strings.Contains(b.Reason, "the baseline missing: splice") {
		t.Errorf("without a baseline: %s, %q", b.State, b.Reason)
	}
}

func TestARunThatAllocatesNothingIsRecordedAsNothing(t *testing.T) {
	l := &ledger{}
	o := mustRun(t, small(9), scenario("a", l.variant("base", honest(3))))[0]
	free := 0
	for _, call := range o.Variants[0].Calls {
		if call.Figures[lab.AllocsPerOp] == 0 && call.Figures[lab.BytesPerOp] == 0 && call.Figures[lab.GCRuns] == 0 {
			free++
		}
		if ns := call.Figures[lab.NsPerOp]; ns <= 0 || call.Figures[MBPerS] <= 0 {
			t.Errorf("figures %v", call.Figures)
		}
	}
	// Other goroutines of a test binary may allocate now and then.
	if free < 5 {
		t.Errorf("only %d of 9 calls are free of allocations: %+v", free, o.Variants[0].Calls)
	}
}

var kept []byte

func TestAllocationsAndCollectionsAreCounted(t *testing.T) {
	l := &ledger{}
	s := scenario("a", l.variant("base", func(ops int) (lab.Sample, error) {
		for range ops {
			kept = make([]byte, 4096)
		}
		runtime.GC() // its own wish, not the variant's garbage
		return lab.Sample{}, nil
	}))
	s.Fixed, s.Ops = true, 20000
	o := mustRun(t, small(1), s)[0]
	f := o.Variants[0].Calls[0].Figures
	if f[lab.AllocsPerOp] < 1 || f[lab.AllocsPerOp] > 1.01 || f[lab.BytesPerOp] < 4096 || f[lab.BytesPerOp] > 4200 {
		t.Errorf("one allocation of 4096 bytes per operation was counted as %v", f)
	}
	// 80 MB through a heap of a few; the exact number is the pacer's.
	if f[lab.GCRuns] < 1 {
		t.Errorf("%v collections", f[lab.GCRuns])
	}
	if _, ok := f[MBPerS]; ok {
		t.Error("a rate of no bytes")
	}

	var m proc.Meter
	before := m.Read()
	runtime.GC()
	if used := before.To(m.Read()); used.GCs != 0 {
		t.Errorf("a collection that was asked for counts as %d", used.GCs)
	}
}

func TestAnOutcomeKnowsItsBounds(t *testing.T) {
	l := &ledger{}
	few, many := l.variant("few", honest(1)), l.variant("many", honest(1))
	s := scenario("a", few, many)
	s.Targets = []lab.Target{{Variant: "many", Metric: MBPerS, Against: "few", AtLeast: 0.5}}
	o := mustRun(t, small(2), s)[0]
	if want := (lab.Target{Variant: "many", Metric: MBPerS, Against: "few", AtLeast: 0.5}); len(o.Targets) != 1 || o.Targets[0] != want {
		t.Errorf("%+v", o.Targets)
	}
}

func TestARunnersOwnFiguresWin(t *testing.T) {
	call := record(0, 1, map[string]float64{lab.NsPerOp: 5, lab.CPUPerOp: 7, lab.GCRuns: 1},
		lab.Sample{Figures: map[string]float64{lab.CPUPerOp: 3, "syscalls/op": 2, lab.GCRuns: math.NaN()}})
	if got := fmt.Sprint(call.Figures); got != "map[cpu-ns/op:3 ns/op:5 syscalls/op:2]" {
		t.Error(got)
	}
}

func TestNoTemporaryDirectoryIsAnError(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()+string(os.PathSeparator)+"missing")
	if runtime.GOOS == "windows" {
		t.Skip("TMPDIR means nothing here")
	}
	l := &ledger{}
	if _, err := Run(t.Context(), []lab.Scenario{scenario("a", l.variant("v", honest(1)))}, small(1)); err == nil {
		t.Error("no error")
	}
}
