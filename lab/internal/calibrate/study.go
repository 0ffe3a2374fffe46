package calibrate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/machine"
)

// Kind and Schema are what the JSON of a Result begins with.
const (
	Kind   = "calibration"
	Schema = 1
)

// Limits of a study.
const (
	MaxRounds = 1000
	MaxEach   = time.Hour
)

// A Result is what the same load came to several times. Times are nanoseconds in
// JSON.
type Result struct {
	Kind     string             `json:"kind"`
	Schema   int                `json:"schema"`
	Version  string             `json:"version,omitempty"` // of the program; the caller's to set, with Command and Machine
	Command  []string           `json:"command,omitempty"`
	Machine  machine.Machine    `json:"machine"`
	Started  time.Time          `json:"started"`
	Plan     load.Plan          `json:"plan"`          // of each round; without a target it was one of the program's own
	Asked    int                `json:"asked"`         // so many rounds
	Own      bool               `json:"own,omitempty"` // the target only answers, anew for each round
	Rounds   []Round            `json:"rounds"`        // that were finished
	Stopped  bool               `json:"interrupted,omitempty"`
	Timer    *load.Distribution `json:"timer,omitempty"`
	Loopback *load.Distribution `json:"loopback,omitempty"`

	Throughput Spread `json:"throughput"` // payload bytes a second
	IOPS       Spread `json:"iops"`
	// Ratio is how much of the theory was reached. It is of the rounds whose
	// service time is known, and of no round if that is of none.
	Ratio Spread `json:"ratio"`
}

// A Round is one run of the load.
type Round struct {
	Started    time.Time     `json:"started"`
	Measured   time.Duration `json:"measured_ns"`
	Requests   uint64        `json:"requests"`
	Throughput float64       `json:"throughput"` // payload bytes a second
	Within     float64       `json:"within"`     // standard deviation of the throughput of its windows; 0 for fewer than two
	IOPS       float64       `json:"iops"`       // requests a second
	Service    time.Duration `json:"service_ns"` // mean; 0 if the run was not valid
	Theory     float64       `json:"theory"`     // requests a second by Little's law, see Theory; 0 if unknown
	Ratio      float64       `json:"ratio"`      // IOPS of Theory
	Busy       float64       `json:"busy"`       // of the generator's busiest thread
	Valid      bool          `json:"valid"`
	Reasons    []string      `json:"reasons,omitempty"`
}

// A Spread is how far values lie apart.
type Spread struct {
	N      int     `json:"n"`
	Mean   float64 `json:"mean"`
	StdDev float64 `json:"stddev"` // of a sample: divided by N-1; 0 for fewer than two
	CV     float64 `json:"cv"`     // coefficient of variation: StdDev of Mean
}

// spread describes values. That of none is zero.
func spread(values []float64) Spread {
	s := Spread{N: len(values)}
	if s.N == 0 {
		return s
	}
	for _, v := range values {
		s.Mean += v / float64(s.N)
	}
	if s.N < 2 {
		return s
	}
	squares := 0.0
	for _, v := range values {
		squares += (v - s.Mean) * (v - s.Mean)
	}
	s.StdDev = math.Sqrt(squares / float64(s.N-1))
	if s.Mean > 0 {
		s.CV = s.StdDev / s.Mean
	}
	return s
}

// Theory is how many requests a second so many connections, with depth requests
// under way on each, come to when each request takes service on average: Little's
// law (J. D. C. Little, "A proof for the queuing formula L = λW", 1961), as
// λ = L/W. What is reached is less by the time in which a request could have been under way and was
// not: the generator had not sent it yet.
func Theory(conns, depth int, service time.Duration) float64 {
	if service <= 0 {
		return 0
	}
	return float64(conns) * float64(depth) / service.Seconds()
}

// A StudyProgress is how far a study is.
type StudyProgress struct {
	Round, Rounds int // from 1
	Load          load.Progress
	Done          *Round // the round has just ended
}

// ErrTarget is a target that failed.
var ErrTarget = errors.New("the target failed")

// Study runs the plan as a closed loop so many times, each for so long, and says
// how far the figures lie apart, and how near they come to the theory. Without a
// target in the plan it is one of the program self that only answers.
//
// When ctx ends the result has the rounds that were finished. When a round could not
// be begun, or the target failed, it has those too, beside the error. progress may be nil; it is
// told as that of load.Run is.
func Study(ctx context.Context, plan load.Plan, rounds int, each time.Duration, self string, progress func(StudyProgress)) (*Result, error) {
	return study(ctx, plan, rounds, each, self, progress, load.Run)
}

func study(ctx context.Context, plan load.Plan, rounds int, each time.Duration, self string, progress func(StudyProgress), run runner) (*Result, error) {
	if rounds < 1 || rounds > MaxRounds || each <= 0 || each > MaxEach {
		return nil, fmt.Errorf("calibrate: %d rounds of %v are not within 1 to %d of at most %v", rounds, each, MaxRounds, MaxEach)
	}
	if progress == nil {
		progress = func(StudyProgress) {}
	}
	own := plan.Target == ""
	pid, pprof := plan.PID, plan.Pprof
	plan = bare(plan)
	plan.PID, plan.Pprof = pid, pprof
	plan.Duration = each
	r := &Result{Kind: Kind, Schema: Schema, Machine: machine.This(), Started: time.Now(), Plan: plan, Own: own, Asked: rounds}
	var failed error
	for n := 1; n <= rounds && failed == nil && ctx.Err() == nil; n++ {
		failed = r.round(ctx, self, run, func(p load.Progress) { progress(StudyProgress{Round: n, Rounds: rounds, Load: p}) })
		if failed == nil && len(r.Rounds) == n {
			progress(StudyProgress{Round: n, Rounds: rounds, Done: &r.Rounds[n-1]})
		}
	}
	r.Stopped = ctx.Err() != nil && len(r.Rounds) < rounds
	if r.Stopped {
		failed = nil
	}
	r.sum()
	return r, failed
}

// round adds a round, unless it was interrupted.
func (r *Result) round(ctx context.Context, self string, run runner, progress func(load.Progress)) error {
	plan := r.Plan
	if r.Own {
		floor, err := startFloor(ctx, self, plan.Protocol)
		if err != nil {
			return err
		}
		defer floor.stop()
		plan.Target = floor.addr
	}
	got, err := run(ctx, plan, progress)
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil || got.Interrupted:
		return nil
	case got.Requests == 0 && got.Error == "":
		return fmt.Errorf("%w: no request was answered", ErrTarget)
	case got.Errors > 0:
		return fmt.Errorf("%w: %s", ErrTarget, got.Error)
	}
	round := Round{
		Started: got.Started, Measured: got.Measured, Requests: got.Requests, Throughput: got.Throughput, IOPS: got.IOPS,
		Busy: got.Busy, Valid: got.Valid, Reasons: got.Reasons,
	}
	service := got.Service
	if service == nil {
		service = got.Latency // of a closed loop they are the same
	}
	if service != nil && service.Mean > 0 {
		round.Service = service.Mean
		round.Theory = Theory(plan.Conns, plan.Depth, service.Mean)
		round.Ratio = round.IOPS / round.Theory
	}
	var windows []float64
	for _, w := range got.Series {
		windows = append(windows, w.Rate)
	}
	round.Within = spread(windows).StdDev
	r.Rounds = append(r.Rounds, round)
	return nil
}

// sum takes the rounds together.
func (r *Result) sum() {
	var throughput, iops, ratio []float64
	for _, round := range r.Rounds {
		throughput = append(throughput, round.Throughput)
		iops = append(iops, round.IOPS)
		if round.Theory > 0 {
			ratio = append(ratio, round.Ratio)
		}
	}
	r.Throughput, r.IOPS, r.Ratio = spread(throughput), spread(iops), spread(ratio)
}
