package calibrate

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
)

// rounds answers as load.Run with one result after the other.
func rounds(results ...*load.Result) (runner, *[]load.Plan) {
	var asked []load.Plan
	return func(_ context.Context, p load.Plan, progress func(load.Progress)) (*load.Result, error) {
		asked = append(asked, p)
		progress(load.Progress{Measuring: true})
		if len(asked) > len(results) {
			return nil, errors.New("one round too many")
		}
		return results[len(asked)-1], nil
	}, &asked
}

func reached(iops float64, service time.Duration) *load.Result {
	return &load.Result{
		Valid: true, Requests: 100, IOPS: iops, Throughput: 128 * iops, Measured: time.Second,
		Latency: &load.Distribution{Mean: service}, Service: &load.Distribution{Mean: service},
		Series: []load.Second{{Rate: 10}, {Rate: 30}},
	}
}

func target() load.Plan {
	p := load.Default()
	p.Target, p.Conns, p.Depth, p.Rate = "127.0.0.1:1", 4, 2, 50
	return p
}

func TestRoundsAreSummed(t *testing.T) {
	run, asked := rounds(reached(7000, time.Millisecond), reached(8000, time.Millisecond), reached(6000, time.Millisecond))
	var done, running int
	r, err := study(t.Context(), target(), 3, time.Second, "", func(p StudyProgress) {
		if p.Rounds != 3 || p.Round < 1 || p.Round > 3 {
			t.Errorf("%+v", p)
		}
		if p.Done != nil {
			done++
		} else {
			running++
		}
	}, run)
	if err != nil || len(r.Rounds) != 3 || r.Stopped || r.Own || r.Kind != "calibration" || done != 3 || running != 3 {
		t.Fatalf("%+v, %v, %d and %d", r, err, done, running)
	}
	if s := r.IOPS; s.N != 3 || s.Mean != 7000 || math.Abs(s.StdDev-1000) > 1e-9 || math.Abs(s.CV-1.0/7) > 1e-9 {
		t.Errorf("%+v", s)
	}
	if s := r.Throughput; s.Mean != 7000*128 || math.Abs(s.StdDev-128000) > 1e-6 {
		t.Errorf("%+v", s)
	}
	// 8 under way of a millisecond each are 8000 a second.
	if round := r.Rounds[0]; round.Theory != 8000 || round.Ratio != 0.875 || math.Abs(round.Within-math.Sqrt(200)) > 1e-9 {
		t.Errorf("%+v", round)
	}
	if s := r.Ratio; s.N != 3 || math.Abs(s.Mean-0.875) > 1e-9 {
		t.Errorf("%+v", s)
	}
	for _, p := range *asked {
		if p.Rate != 0 || p.Duration != time.Second || p.Target != "127.0.0.1:1" {
			t.Errorf("asked for %+v", p)
		}
	}
}

func TestRoundsThatWereNotValidHaveNoTheory(t *testing.T) {
	busy := &load.Result{Requests: 5, IOPS: 5000, Reasons: []string{"out of CPU"}}
	run, _ := rounds(reached(7000, time.Millisecond), busy)
	r, err := study(t.Context(), target(), 2, time.Second, "", nil, run)
	if err != nil || len(r.Rounds) != 2 || r.IOPS.N != 2 || r.Ratio.N != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if last := r.Rounds[1]; last.Valid || last.Theory != 0 || last.Ratio != 0 || len(last.Reasons) != 1 || last.Within != 0 {
		t.Errorf("%+v", last)
	}
	if s := r.Ratio; s.StdDev != 0 || s.CV != 0 || math.IsNaN(s.Mean) {
		t.Errorf("%+v", s)
	}
}

func TestFinishedRoundsAreKept(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	run := func(_ context.Context, _ load.Plan, _ func(load.Progress)) (*load.Result, error) {
		if calls++; calls == 2 {
			cancel()
			return &load.Result{Interrupted: true, Requests: 3, IOPS: 3}, nil
		}
		return reached(100, time.Millisecond), nil
	}
	r, err := study(ctx, target(), 5, time.Second, "", nil, run)
	if err != nil || !r.Stopped || len(r.Rounds) != 1 || r.IOPS.Mean != 100 || calls != 2 {
		t.Errorf("%+v, %v", r, err)
	}

	first, _ := rounds(reached(100, time.Millisecond), &load.Result{Errors: 2, Error: "connection reset"})
	r, err = study(t.Context(), target(), 5, time.Second, "", nil, first)
	if !errors.Is(err, ErrTarget) || err.Error() != "the target failed: connection reset" || len(r.Rounds) != 1 || r.Stopped {
		t.Errorf("%+v, %v", r, err)
	}
	none, _ := rounds(&load.Result{})
	if r, err = study(t.Context(), target(), 5, time.Second, "", nil, none); !errors.Is(err, ErrTarget) || r.IOPS.N != 0 || math.IsNaN(r.IOPS.CV) {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestStudiesThatAreNone(t *testing.T) {
	run, _ := rounds()
	for _, c := range []struct {
		rounds int
		each   time.Duration
	}{{0, time.Second}, {-1, time.Second}, {MaxRounds + 1, time.Second}, {1, 0}, {1, MaxEach + 1}} {
		if _, err := study(t.Context(), target(), c.rounds, c.each, "", nil, run); err == nil {
			t.Errorf("%+v", c)
		}
	}
}

func TestWithoutATargetItIsOneOfItsOwn(t *testing.T) {
	plan := load.Default()
	plan.Warmup = 50 * time.Millisecond
	r, err := Study(t.Context(), plan, 2, 200*time.Millisecond, self(t), nil)
	if err != nil || !r.Own || len(r.Rounds) != 2 || r.Plan.Target != "" || r.IOPS.Mean <= 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, round := range r.Rounds {
		// A request of one connection is under way nearly all the time. What was under
		// way when the time began counts too, and may have waited for a processor.
		if round.Valid && (round.Ratio > 2 || round.Ratio <= 0) {
			t.Errorf("%+v", round)
		}
	}
}
