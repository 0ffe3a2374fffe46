package matrix

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
)

// ErrTime is what Measure returns when the time that it was given is over and
// runs are missing.
var ErrTime = errors.New("no time left")

// Options say how Measure works.
type Options struct {
	// Load puts a plan's load on its target, as load.Run does.
	Load func(context.Context, load.Plan) (*load.Result, error)
	// Start starts a target.
	Start func(context.Context, Target) (Process, error)
	// Save keeps the file. It is called after every run, and at the end.
	Save func(*File) error
	// Progress is called before every run. It may be nil.
	Progress func(Event)
	// Limit is how long Measure may take; 0 for as long as it takes.
	Limit time.Duration
}

// An Event is what Measure is about to do.
type Event struct {
	Done   int // runs, of this call
	Total  int // of this call, as far as it is known
	Round  int
	Rounds int
	Cell   string // in words
	Left   time.Duration
}

// session is one call of Measure.
type session struct {
	Options
	file    *File
	kind    *kind
	targets targets
	began   time.Time
	done    int
	total   int
	failed  int // runs in a row that could not begin
}

// mostFailed runs in a row that cannot begin end a grid: what is wrong is not the
// cell.
const mostFailed = 3

// Measure measures the missing runs of f, which it changes. It returns nil when f is complete; ErrTime or the error of
// ctx, wrapped, when it was stopped earlier; and another error when it cannot continue.
// In all cases f has complete runs only, they are saved, and no target still runs.
func Measure(ctx context.Context, f *File, o Options) (err error) {
	k, err := lookup(f.Name)
	if err != nil {
		return fmt.Errorf("matrix: %w", err)
	}
	s := &session{Options: o, file: f, kind: k, began: time.Now(), total: f.Missing()}
	s.targets = targets{start: o.Start, running: map[string]Process{}}
	defer func() { err = errors.Join(err, s.targets.stop()) }()
	if err := s.all(ctx); err != nil {
		return err
	}
	f.Interrupted = false
	return s.save()
}

func (s *session) all(ctx context.Context) error {
	f := s.file
	f.Interrupted = true
	for round := 1; round <= f.Repeats; round++ {
		for place, i := range order(f.Seed, f.Name, len(f.Cells), f.Repeats, round) {
			if err := s.one(ctx, i, round, place+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// one measures a cell, unless the round has it.
func (s *session) one(ctx context.Context, index, round, place int) error {
	f := s.file
	c := &f.Cells[index]
	if c.has(round) {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("matrix: %w", context.Cause(ctx))
	}
	if s.Limit > 0 && time.Since(s.began)+max(s.each(), f.span(c)) > s.Limit {
		return fmt.Errorf("matrix: %w: %d of %d runs are there", ErrTime, s.done, s.total)
	}
	s.tell(Event{Round: round, Rounds: f.Repeats, Cell: f.label(c)})
	began := time.Now()
	run, err := s.run(ctx, c, round)
	if err != nil {
		return err
	}
	run.Round, run.Place = round, place
	c.Runs = append(c.Runs, run)
	f.Seconds += time.Since(began).Seconds()
	f.Derive()
	s.done++
	return s.save()
}

// run is one measurement. Its error ends the grid.
func (s *session) run(ctx context.Context, c *Cell, round int) (Run, error) {
	f := s.file
	target := s.kind.target(f.Layers[c.Layer], f.Rows.Values[c.Row], f.Columns.Values[c.Column])
	plan := with(f.plan(s.kind, c), f.span(c))
	plan.Seed = draw(f.Seed, f.place(c), round).Uint64()
	p, err := s.process(ctx, target, plan)
	if err != nil {
		return Run{}, err
	}
	plan.Target, plan.PID = p.Addr(), p.PID()
	if s.kind.network {
		n, addr, err := through(ctx, plan.Target, time.Duration(f.Columns.Values[c.Column]), layerTime(f.Layers[c.Layer]))
		if err != nil {
			return Run{}, err
		}
		defer n.close()
		plan.Target = addr
	}
	result, err := s.Load(ctx, plan)
	if ctx.Err() != nil {
		return Run{}, fmt.Errorf("matrix: %w", context.Cause(ctx)) // not a whole run
	}
	if ended := p.Ended(); ended != nil {
		return Run{}, fmt.Errorf("matrix: the target lab %s has ended: %w", strings.Join(target.Args, " "), ended)
	}
	if err != nil {
		if s.failed++; s.failed == mostFailed || errors.Is(err, load.ErrPlan) {
			return Run{}, fmt.Errorf("matrix: %s: %w", f.label(c), err)
		}
		return Run{Reason: err.Error(), Figures: map[string]float64{}}, nil
	}
	s.failed = 0
	if err := s.targets.tidy(target); err != nil {
		return Run{}, err
	}
	return f.figures(result), nil
}

// process is the target of a run: one that is started, or that ran already.
func (s *session) process(ctx context.Context, target Target, plan load.Plan) (Process, error) {
	if s.file.Target != nil {
		return &running{addr: plan.Target, pid: plan.PID}, nil
	}
	p, fresh, err := s.targets.get(ctx, target)
	if err == nil && fresh && target.Keeps {
		err = s.ready(ctx, p)
	}
	return p, err
}

// layerTime is the jitter of a layer; 0 of another.
func layerTime(layer string) time.Duration {
	d, err := time.ParseDuration(layer)
	if err != nil {
		return 0
	}
	return d
}

// figures takes out of a result what the grid shows.
func (f *File) figures(r *load.Result) Run {
	run := Run{Valid: r.Valid, Requests: r.Requests, Figures: map[string]float64{}}
	if r.Requests == 0 {
		run.Valid, run.Reason = false, "nothing was answered within the time measured"
		return run
	}
	var reasons []string
	if len(r.Reasons) > 0 {
		reasons, run.Code = append(reasons, load.Texts(r.Reasons)), r.Reasons[0].Code
	}
	if r.Errors > 0 {
		run.Valid = false
		reasons = append(reasons, fmt.Sprintf("%d requests or connections failed: %s", r.Errors, r.Error))
	}
	if run.Valid && r.Latency == nil {
		run.Valid = false
		reasons = append(reasons, "there is no latency")
	}
	run.Behind = !run.Valid && r.Errors == 0 && r.Behind()
	all := map[string]float64{Throughput: r.Throughput, IOPS: r.IOPS}
	if run.Valid {
		all[Median], all[P99], all[Jitter] = float64(r.Latency.P50), float64(r.Latency.P99), float64(r.Jitter)
		if r.Target != nil && r.Target.CPUPerOp > 0 {
			all[TargetCPU] = r.Target.CPUPerOp
		}
	} else if run.Reason = strings.Join(reasons, "; "); run.Reason == "" {
		run.Reason = "the run is not valid"
	}
	for _, g := range f.Figures {
		if v, ok := all[g.Name]; ok {
			run.Figures[g.Name] = v
		}
	}
	return run
}

// A target that keeps files may have to elect a leader first: readyWithin bounds
// the wait for its first answer.
const (
	readyWithin = 20 * time.Second
	readyRun    = 100 * time.Millisecond
)

// ready returns when a fresh target has answered.
func (s *session) ready(ctx context.Context, p Process) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	plan := with(load.Default(), readyRun)
	s.kind.shape(&plan, 0, 64)
	plan.Target, plan.Conns, plan.Depth = p.Addr(), 1, 1
	plan.Warmup, plan.Duration = 0, readyRun
	for {
		result, err := s.Load(ctx, plan)
		if err == nil && result.Requests > 0 {
			return nil
		}
		pause := time.NewTimer(readyRun)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
		if ended := p.Ended(); ended != nil {
			return fmt.Errorf("matrix: the target has ended: %w", ended)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("matrix: the target does not answer: %w", errors.Join(context.Cause(ctx), err))
		}
	}
}

// each is about how long a run takes.
func (s *session) each() time.Duration {
	if s.done == 0 {
		return s.file.Estimate() / time.Duration(max(1, s.total))
	}
	return time.Since(s.began) / time.Duration(s.done)
}

func (s *session) tell(e Event) {
	if s.Progress != nil {
		e.Done, e.Total = s.done, s.total
		e.Left = time.Duration(s.total-s.done) * s.each()
		s.Progress(e)
	}
}

func (s *session) save() error {
	if s.Save == nil {
		return nil
	}
	if err := s.Save(s.file); err != nil {
		return fmt.Errorf("matrix: %w", err)
	}
	return nil
}
