package matrix

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
)

func TestDurabilitiesAreSinksOfTheirOwn(t *testing.T) {
	l := newLab(t)
	started := map[string]bool{}
	f := small(t, RateDurability)
	o := l.options()
	o.Start = func(ctx context.Context, args []string) (*Server, error) {
		started[strings.Join(args, " ")] = true
		return l.start(ctx, args)
	}
	if err := Measure(t.Context(), f, o); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"sink 127.0.0.1:0 --durability async", "sink 127.0.0.1:0 --durability raft --trio"} {
		if !started[want] {
			t.Errorf("lab %s was not started, but %v", want, started)
		}
	}
	for _, p := range l.plans {
		if p.Protocol != load.Ack || p.Conns != 16 || p.Depth != 4 {
			t.Errorf("a cell's load is %+v", p)
		}
	}
}

func TestNoOtherTargetKeepsRecordsAsASinkDoes(t *testing.T) {
	p := load.Default()
	p.Target = "127.0.0.1:7001"
	if _, err := New(RateDurability, Choice{Target: &p}); err == nil || !strings.Contains(err.Error(), "starts its targets itself") {
		t.Errorf("the grid on another target: %v", err)
	}
}

func TestAGridOfRatesHasTheJitterOfTheP99(t *testing.T) {
	l := newLab(t)
	l.answer = func(p load.Plan) (*load.Result, error) {
		r, err := honest(p)
		r.Jitter = 3 * time.Millisecond
		return r, err
	}
	for _, name := range []string{RateNetwork, RateDurability} {
		f := small(t, name)
		if err := Measure(t.Context(), f, l.options()); err != nil {
			t.Fatal(err)
		}
		for i := range f.Cells {
			if v, ok := f.Cells[i].Median(Jitter); !ok || v != 3e6 {
				t.Errorf("%s: the jitter of a cell is %v, %v", name, v, ok)
			}
		}
	}
}
