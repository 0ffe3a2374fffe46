package load

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheErrorOfTimers(t *testing.T) {
	p := Default()
	p.Engine = "portable"
	// Virtual time is not late.
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c, err := Calibrate(t.Context(), p)
		if err != nil || c.Timer.Count != timerCount || c.Timer.Max > 1 || c.LateAfter != time.Millisecond || time.Since(began) != timerCount*timerStep {
			t.Errorf("%+v, %v after %v", c, err, time.Since(began))
		}
	})
	late := 300 * time.Microsecond
	synctest.Test(t, func(t *testing.T) {
		if d := measureTimer(t.Context(), 20, func(d time.Duration) { time.Sleep(d + late) }); d.Count != 20 || d.Min > late || d.Min < late*999/1000 || d.Max < late || d.Max > late*1001/1000 {
			t.Errorf("%+v", d)
		}
	})
	c, err := Calibrate(t.Context(), Default())
	if err != nil || c.Timer.Count != timerCount || c.Timer.Min < 0 || c.Timer.Max < c.Timer.P50 {
		t.Errorf("%+v, %v", c, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if c, err := Calibrate(ctx, Default()); !errors.Is(err, context.Canceled) || c.Timer.Count > 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestTheErrorOfTimersExcusesSoMuch(t *testing.T) {
	for p99, want := range map[time.Duration]time.Duration{
		0: time.Millisecond, 999 * time.Microsecond: time.Millisecond, 1_551_234: 1560 * time.Microsecond, mostLateAfter: mostLateAfter,
		mostLateAfter + 1: mostLateAfter, time.Hour: mostLateAfter,
	} {
		if got := lateAfter(Distribution{P99: p99}); got != want {
			t.Errorf("%v: %v, want %v", p99, got, want)
		}
	}
}
