package calibrate

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/machine"
)

func TestDistributions(t *testing.T) {
	if d := distribution(nil); d.Count != 0 || d.P99 != 0 || d.Max != 0 {
		t.Errorf("of nothing: %+v", d)
	}
	if d := distribution([]time.Duration{7}); d.Count != 1 || d.Min != 7 || d.Mean != 7 || d.P50 != 7 || d.P999 != 7 || d.Max != 7 {
		t.Errorf("of one: %+v", d)
	}
	times := make([]time.Duration, 1000)
	for i := range times {
		times[i] = time.Duration(1000 - i)
	}
	if d := distribution(times); d.Min != 1 || d.P50 != 501 || d.P90 != 901 || d.P99 != 991 || d.P999 != 1000 || d.Max != 1000 || d.Mean != 500 {
		t.Errorf("of 1 to 1000: %+v", d)
	}
}

func TestTheErrorOfTimers(t *testing.T) {
	// Virtual time is not late.
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		d, err := GoTimer(t.Context(), 50)
		if err != nil || d.Count != 50 || d.Max != 0 || time.Since(began) != 50*time.Millisecond {
			t.Errorf("%+v, %v after %v", d, err, time.Since(began))
		}
	})
	late := 300 * time.Microsecond
	synctest.Test(t, func(t *testing.T) {
		d, err := timer(t.Context(), 20, func(d time.Duration) { time.Sleep(d + late) })
		if err != nil || d.Min != late || d.Max != late {
			t.Errorf("%+v, %v", d, err)
		}
	})
	d, err := Timer(t.Context(), 10)
	if err != nil || d.Count != 10 || d.Min < 0 || d.Max < d.P50 {
		t.Errorf("%+v, %v", d, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if d, err := Timer(ctx, 10); !errors.Is(err, context.Canceled) || d.Count > 0 {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestTheCeilingIsThatOfThePlanAsAClosedLoop(t *testing.T) {
	plan := load.Default()
	plan.Target, plan.Rate, plan.RateBytes, plan.Conns, plan.Depth = "192.0.2.1:9", 5e9, true, 3, 2
	plan.PID, plan.Redial, plan.Sizes = 1, true, load.OneSize(77)
	var asked load.Plan
	run := func(_ context.Context, p load.Plan, _ func(load.Progress)) (*load.Result, error) {
		asked = p
		return &load.Result{Requests: 500, IOPS: 1000, Latency: &load.Distribution{Count: 500}, Measured: time.Second, Generator: load.Use{CPUPerOp: 250}}, nil
	}
	c, err := calibrate(t.Context(), plan, self(t), run)
	if err != nil || c.Ceiling != 1000 || c.CeilingCPU != 250 || c.Timer.Count != timerCount || c.Loopback.Count == 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	if c.LateAfter < time.Millisecond || c.LateAfter < min(c.Timer.P99, mostLateAfter) {
		t.Errorf("late after %v, the timers' P99 is %v", c.LateAfter, c.Timer.P99)
	}
	if asked.Rate != 0 || asked.RateBytes || asked.PID != 0 || asked.Redial {
		t.Errorf("asked for %+v", asked)
	}
	if asked.Conns != 3 || asked.Depth != 2 || asked.Sizes.Max != 77 || asked.Target == plan.Target || asked.Check() != nil {
		t.Errorf("asked for %+v, %v", asked, asked.Check())
	}
}

func TestTheErrorOfTimersExcusesSoMuch(t *testing.T) {
	for p99, want := range map[time.Duration]time.Duration{
		0: time.Millisecond, 999 * time.Microsecond: time.Millisecond, 1_551_234: 1560 * time.Microsecond, mostLateAfter: mostLateAfter,
		mostLateAfter + 1: mostLateAfter, time.Hour: mostLateAfter,
	} {
		if got := lateAfter(load.Distribution{P99: p99}); got != want {
			t.Errorf("%v: %v, want %v", p99, got, want)
		}
	}
}

// A machine that stands still for the whole of a run gets another.
func TestARunWithoutAnAnswerIsRepeated(t *testing.T) {
	runs := 0
	run := func(context.Context, load.Plan, func(load.Progress)) (*load.Result, error) {
		if runs++; runs%2 == 1 {
			return &load.Result{}, nil
		}
		return &load.Result{Requests: 500, IOPS: 1000, Latency: &load.Distribution{Count: 500}, Measured: time.Second}, nil
	}
	if c, err := calibrate(t.Context(), load.Default(), self(t), run); err != nil || c.Ceiling != 1000 || c.Loopback.Count != 500 || runs != 4 {
		t.Errorf("%+v, %v after %d runs", c, err, runs)
	}
}

func TestNoCeiling(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		result *load.Result
		err    error
		says   string
	}{
		{nil, broken, "calibrate: the generator's ceiling: broken"},
		{&load.Result{Error: "reset"}, nil, "calibrate: the generator's ceiling: reset"},
		{&load.Result{}, nil, "calibrate: the generator's ceiling: no request was answered in time"},
	} {
		run := func(context.Context, load.Plan, func(load.Progress)) (*load.Result, error) { return c.result, c.err }
		if _, err := calibrate(t.Context(), load.Default(), self(t), run); err == nil || err.Error() != c.says {
			t.Errorf("%v, want %s", err, c.says)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	run := func(context.Context, load.Plan, func(load.Progress)) (*load.Result, error) {
		cancel()
		return &load.Result{Requests: 1, IOPS: 1, Origin: machine.Origin{Interrupted: true}}, nil
	}
	if _, err := calibrate(ctx, load.Default(), self(t), run); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The real thing; that the target answers each protocol is another test's. On a busy
// machine no run over loopback may be valid.
func TestTheGeneratorReachesSomething(t *testing.T) {
	for _, protocol := range []load.Protocol{load.Frame, load.Ack} {
		plan := load.Default()
		plan.Protocol, plan.Conns, plan.Depth = protocol, 4, 2
		c, err := Run(t.Context(), plan, self(t))
		for try := 0; err != nil && strings.Contains(err.Error(), "no request was answered in time") && try < 5; try++ {
			c, err = Run(t.Context(), plan, self(t))
		}
		if err != nil || c.Ceiling <= 0 || c.CeilingCPU <= 0 || c.Loopback.Count > 0 && c.Loopback.P50 <= 0 {
			t.Errorf("%s: %+v, %v", protocol, c, err)
		}
	}
}
