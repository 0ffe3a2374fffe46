package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/machine"
)

var errBroken = errors.New("the wire broke")

// lab is a world of servers that are none and of loads that take no time.
type lab struct {
	t       *testing.T
	answer  func(load.Plan) (*load.Result, error) // nil for honest
	running map[string]string                     // what they were started with, by address
	plans   []load.Plan
	ended   error // of all servers
	refuses error // to start
}

func newLab(t *testing.T) *lab {
	l := &lab{t: t, running: map[string]string{}}
	t.Cleanup(func() {
		if len(l.running) > 0 {
			t.Errorf("servers are left: %v", l.running)
		}
	})
	return l
}

func (l *lab) options() Options { return Options{Load: l.load, Start: l.start} }

func (l *lab) start(_ context.Context, args []string) (*Server, error) {
	command := strings.Join(args, " ")
	addr := fmt.Sprintf("127.0.0.1:%d", 1000+len(l.running))
	if l.refuses != nil {
		return nil, l.refuses
	}
	for _, other := range l.running {
		if other == command {
			l.t.Errorf("%s is started twice", command)
		}
	}
	l.running[addr] = command
	return &Server{Addr: addr, PID: 7, Ended: func() error { return l.ended }, Stop: func() { delete(l.running, addr) }}, nil
}

func (l *lab) load(ctx context.Context, p load.Plan) (*load.Result, error) {
	if err := p.Check(); err != nil {
		l.t.Errorf("%+v: %v", p, err)
	}
	if l.running[p.Target] == "" && p.Depth != 64 { // through a network
		l.t.Errorf("a load on %s, which does not run", p.Target)
	}
	l.plans = append(l.plans, p)
	if err := ctx.Err(); err != nil {
		return &load.Result{Origin: machine.Origin{Interrupted: true}}, nil
	}
	if l.answer != nil {
		return l.answer(p)
	}
	return honest(p)
}

// honest is a result that depends on the plan alone, with a noise of a few percent.
func honest(p load.Plan) (*load.Result, error) {
	rng := rand.New(rand.NewPCG(p.Seed, 1))
	noise := func() float64 { return 1 + 0.06*(rng.Float64()-0.5) }
	iops := 100_000 * noise()
	if p.Rate > 0 {
		iops = p.Rate
	}
	p50 := time.Duration(float64(p.Conns*p.Depth) / iops * 1e9)
	return &load.Result{
		Valid: true, Requests: uint64(iops), IOPS: iops, Throughput: iops * float64(p.Sizes.Max),
		Latency: &load.Distribution{Count: uint64(iops), P50: p50, P99: time.Duration(2 * float64(p50) * noise())},
		Jitter:  p50 / 10,
		Target:  &load.Use{CPUPerOp: 5000},
	}, nil
}

// small is a grid of few cells.
func small(t *testing.T, name string) *File {
	t.Helper()
	c := Choice{Rows: "64,4K", Columns: "1,16", Layers: []string{"std", "aio"}}
	switch name {
	case RateNetwork:
		c = Choice{Rows: "100,max", Columns: "none,1ms", Layers: []string{"0s", "2ms"}}
	case RateDurability:
		c = Choice{Rows: "100,max", Columns: "64,1KiB", Layers: []string{"async", "raft"}}
	}
	f, err := New(name, c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestEveryCellIsMeasuredInEveryRound(t *testing.T) {
	for _, name := range Names() {
		l := newLab(t)
		f := small(t, name)
		if err := Measure(t.Context(), f, l.options()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if f.Missing() != 0 || f.Interrupted || len(l.plans) != 8*f.Repeats {
			t.Errorf("%s: %d runs are missing, interrupted %v, %d loads", name, f.Missing(), f.Interrupted, len(l.plans))
		}
		for i, p := range l.plans {
			if p.Warmup+p.Duration != f.CellTime || p.PID != 7 || slices.ContainsFunc(l.plans[:i], func(q load.Plan) bool { return q.Seed == p.Seed }) {
				t.Errorf("%s: %+v", name, p)
			}
		}
		for i := range f.Cells {
			for _, g := range f.Figures {
				if _, ok := f.Cells[i].Median(g.Name); !ok {
					t.Errorf("%s: cell %v has no %s", name, f.Cells[i], g.Name)
				}
			}
		}
		text, err := json.Marshal(f)
		var again File
		if err = errors.Join(err, json.Unmarshal(text, &again)); err != nil || len(again.Cells) != len(f.Cells) {
			t.Errorf("%s does not come back from JSON: %v", name, err)
		}
	}
}

// The order differs from round to round, and is the same for the same seed.
func TestTheOrderIsDrawn(t *testing.T) {
	order := func(seed uint64) (list []string) {
		l := newLab(t)
		f, err := New(SizeConns, Choice{Layers: []string{"std"}, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		if err := Measure(t.Context(), f, l.options()); err != nil {
			t.Fatal(err)
		}
		for _, p := range l.plans {
			list = append(list, fmt.Sprint(p.Sizes, p.Conns, p.Seed))
		}
		return list
	}
	first := order(1)
	if !slices.Equal(first, order(1)) || slices.Equal(first, order(2)) || slices.Equal(first[:48], first[48:96]) {
		t.Error("the order is not drawn from the seed, anew in each round")
	}
}

func TestAnInterruptKeepsWholeRuns(t *testing.T) {
	l := newLab(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	l.answer = func(p load.Plan) (*load.Result, error) {
		if len(l.plans) == 10 {
			cancel(errBroken)
			return &load.Result{Origin: machine.Origin{Interrupted: true}}, nil
		}
		return honest(p)
	}
	f := small(t, SizeConns)
	if err := Measure(ctx, f, l.options()); !errors.Is(err, errBroken) || !f.Interrupted || f.Missing() != 15 || f.Noise == 0 {
		t.Errorf("%v, interrupted %v, %d missing, noise %v", err, f.Interrupted, f.Missing(), f.Noise)
	}
}

func TestAnInvalidRunHasNoLatency(t *testing.T) {
	l := newLab(t)
	l.answer = func(p load.Plan) (*load.Result, error) {
		r, err := honest(p)
		r.Valid, r.Latency, r.Reasons = false, nil, []load.Reason{{Code: load.GeneratorFull, Text: "the generator was out of CPU"}}
		return r, err
	}
	f := small(t, SizeConns)
	if err := Measure(t.Context(), f, l.options()); err != nil {
		t.Fatal(err)
	}
	for i := range f.Cells {
		c := &f.Cells[i]
		for _, r := range c.Runs {
			if r.Valid || len(r.Figures) != 2 || !strings.Contains(r.Reason, "CPU") {
				t.Errorf("%s: %+v", f.label(c), r)
			}
		}
		if _, ok := c.Median(Throughput); ok || !c.Limited() {
			t.Errorf("%s: the generator's throughput is the target's", f.label(c))
		}
	}
	if f.AnyValid() {
		t.Error("an invalid run is valid")
	}
}

func TestATargetThatDoesNotTakeTheRateHasFigures(t *testing.T) {
	l := newLab(t)
	l.answer = func(p load.Plan) (*load.Result, error) {
		r, err := honest(p)
		if p.Rate > 0 {
			r.Valid, r.Latency, r.Shortfall, r.Reasons = false, nil, 0.5, []load.Reason{{Code: load.TargetBehind, Text: "the target does not take it"}}
			if p.Rate > 1000 {
				r.Late, r.Reasons = 0.5, append(r.Reasons, load.Reason{Code: load.GeneratorLate}) // the generator does not either
			}
		}
		return r, err
	}
	f, err := New(RateNetwork, Choice{Layers: []string{"0s"}, Rows: "100,5000,max", Columns: "none"})
	if err != nil {
		t.Fatal(err)
	}
	if err := Measure(t.Context(), f, l.options()); err != nil {
		t.Fatal(err)
	}
	for i := range f.Cells {
		c := &f.Cells[i]
		rate := f.Rows.Values[c.Row]
		if _, ok := c.Median(IOPS); ok == (rate == 5000) || c.Runs[0].Behind != (rate == 100) {
			t.Errorf("%s: %+v, %v", f.label(c), c.Runs[0], ok)
		}
	}
}

func TestWhatCannotGoOn(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*lab)
		says   string
		runs   int
	}{
		"a target that does not start": {func(l *lab) { l.refuses = errBroken }, "lab echo", 0},
		"a target that has ended":      {func(l *lab) { l.ended = errBroken }, "has ended", 0},
		"loads that do not begin": {func(l *lab) {
			l.answer = func(load.Plan) (*load.Result, error) { return nil, errBroken }
		}, "connections", mostFailed - 1},
		"a plan that cannot be": {func(l *lab) {
			l.answer = func(load.Plan) (*load.Result, error) {
				return nil, fmt.Errorf("%w: %w", load.ErrPlan, errBroken)
			}
		}, "connections", 0},
	} {
		l := newLab(t)
		c.change(l)
		f := small(t, SizeConns)
		err := Measure(t.Context(), f, l.options())
		if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if made := len(f.Cells)*f.Repeats - f.Missing(); made != c.runs {
			t.Errorf("%s: %d runs are kept, want %d", name, made, c.runs)
		}
	}
}

func TestQuickTakesAMinuteAtMost(t *testing.T) {
	for _, name := range Names() {
		f, err := New(name, Choice{Quick: true})
		if err != nil || f.Estimate() > 55*time.Second {
			t.Errorf("%s: --quick takes %v, %v", name, f.Estimate(), err)
		}
	}
}

func TestAxes(t *testing.T) {
	for _, c := range []struct {
		grid, rows, columns, want string
	}{
		{SizeConns, "64", "1", "64 B|1"},
		{SizeConns, "1KiB,64B, 4096", "16,1, 4", "64 B,1 KiB,4 KiB|1,4,16"},
		{SizeConns, "64,64,256", "1000", "64 B,256 B|1000"},
		{SizeConns, "1M,64M", "65536", "1 MiB,64 MiB|65536"},
		{RateNetwork, "max,20", "none,1ms,2s", "20,max|none,1ms,2s"},
		{RateNetwork, "0.5,0", "0", "0.5,max|none"},
	} {
		f, err := New(c.grid, Choice{Rows: c.rows, Columns: c.columns})
		if err != nil {
			t.Errorf("%s %s %s: %v", c.grid, c.rows, c.columns, err)
			continue
		}
		if got := strings.Join(f.Rows.Labels, ",") + "|" + strings.Join(f.Columns.Labels, ","); got != c.want {
			t.Errorf("%s %s %s: %s, want %s", c.grid, c.rows, c.columns, got, c.want)
		}
		// Labels are what can be asked for.
		again, err := New(c.grid, Choice{Rows: strings.Join(f.Rows.Labels, ","), Columns: strings.Join(f.Columns.Labels, ",")})
		if err != nil || !slices.Equal(again.Rows.Values, f.Rows.Values) || !slices.Equal(again.Columns.Values, f.Columns.Values) {
			t.Errorf("%s: %v, %v", c.want, again, err)
		}
	}
	many := strings.Builder{}
	for i := range maxValues + 1 {
		fmt.Fprintf(&many, "%d,", i+1)
	}
	for _, c := range []struct {
		grid string
		Choice
		says string
	}{
		{"colours", Choice{}, "colours"},
		{SizeConns, Choice{Rows: "0"}, "size: 0 is not within"},
		{SizeConns, Choice{Rows: "65M"}, "65M"},
		{SizeConns, Choice{Rows: "4KB"}, "4KB"},
		{SizeConns, Choice{Columns: "inf"}, "not within"},
		{SizeConns, Choice{Rows: "nan"}, "nan"},
		{SizeConns, Choice{Columns: "1.5"}, "whole number"},
		{SizeConns, Choice{Rows: "64,"}, `""`},
		{SizeConns, Choice{Columns: "65537"}, "65537"},
		{SizeConns, Choice{Columns: "many"}, "many"},
		{SizeConns, Choice{Layers: []string{"raft"}}, "raft"},
		{SizeConns, Choice{Layers: []string{"std", "std"}}, "twice"},
		{SizeConns, Choice{Columns: strings.Trim(many.String(), ",")}, "at most 32"},
		{RateNetwork, Choice{Layers: []string{"much"}}, "much"},
		{RateNetwork, Choice{Rows: "-1"}, "-1"},
		{RateNetwork, Choice{Layers: []string{"much"}, Target: &load.Plan{Target: "127.0.0.1:1"}}, "much"},
	} {
		if _, err := New(c.grid, c.Choice); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %+v: %v", c.grid, c.Choice, err)
		}
	}
}
