package matrix

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/load"
)

// Options say how Measure works.
type Options struct {
	// Load puts a plan's load on its target, as load.Run does.
	Load func(context.Context, load.Plan) (*load.Result, error)
	// Start starts this program as a target, with these arguments.
	Start func(ctx context.Context, args []string) (*Server, error)
	// Progress is called before every run. It may be nil.
	Progress func(Event)
}

// A Server is a target that listens. Ended and Stop may be nil.
type Server struct {
	Addr  string // what load.Plan.Target takes
	PID   int    // 0 where it is no process of its own
	Ended func() error
	Stop  func()
}

// An Event is what Measure is about to do.
type Event struct {
	Done   int // runs
	Total  int
	Round  int
	Rounds int
	Cell   string // in words
	Left   time.Duration
}

// mostFailed runs in a row that cannot begin end a grid: what is wrong is not the
// cell.
const mostFailed = 3

type session struct {
	Options
	file    *File
	kind    *kind
	servers map[string]*Server // by their arguments
	failed  int                // runs in a row that could not begin
}

// Measure measures f, which it changes, in rounds: each goes through all cells in an order that is drawn.
// When it cannot go on, or ctx ends, f has complete runs only, and no server that was started still runs.
func Measure(ctx context.Context, f *File, o Options) error {
	k, err := lookup(f.Name)
	if err != nil {
		return fmt.Errorf("matrix: %w", err)
	}
	s := &session{Options: o, file: f, kind: k, servers: map[string]*Server{}}
	began, done, total := time.Now(), 0, f.Missing()
	defer func() {
		for _, server := range s.servers {
			if server.Stop != nil {
				server.Stop()
			}
		}
		f.Seconds, f.Interrupted = time.Since(began).Seconds(), f.Missing() > 0
		f.Derive()
	}()
	for round := 1; round <= f.Repeats; round++ {
		for _, i := range rand.New(rand.NewPCG(f.Seed, uint64(round))).Perm(len(f.Cells)) {
			c := &f.Cells[i]
			if o.Progress != nil {
				left := f.Estimate()
				if done > 0 {
					left = time.Since(began) / time.Duration(done) * time.Duration(total-done)
				}
				o.Progress(Event{Done: done, Total: total, Round: round, Rounds: f.Repeats, Cell: f.label(c), Left: left})
			}
			run, err := s.run(ctx, c, uint64(round))
			if err != nil {
				return fmt.Errorf("matrix: %w", err)
			}
			c.Runs = append(c.Runs, run)
			done++
		}
	}
	return nil
}

func (s *session) run(ctx context.Context, c *Cell, round uint64) (Run, error) {
	f := s.file
	plan := f.plan(s.kind, c)
	plan.Seed = rand.New(rand.NewPCG(f.Seed, round<<32+uint64(c.Layer<<20+c.Row<<10+c.Column))).Uint64()
	server, err := s.server(ctx, f.Layers[c.Layer], plan)
	if err != nil {
		return Run{}, err
	}
	plan.Target, plan.PID = server.Addr, server.PID
	if s.kind.network {
		jitter, _ := time.ParseDuration(f.Layers[c.Layer]) // New has checked it
		n, err := through(ctx, &plan, time.Duration(f.Columns.Values[c.Column]), jitter)
		if err != nil {
			return Run{}, err
		}
		defer n.close()
	}
	result, err := s.Load(ctx, plan)
	if ctx.Err() != nil {
		return Run{}, context.Cause(ctx) // not a whole run
	}
	if server.Ended != nil {
		if ended := server.Ended(); ended != nil {
			return Run{}, fmt.Errorf("the target has ended: %w", ended)
		}
	}
	if err != nil {
		if s.failed++; s.failed == mostFailed || errors.Is(err, load.ErrPlan) {
			return Run{}, fmt.Errorf("%s: %w", f.label(c), err)
		}
		return Run{Reason: err.Error(), Figures: map[string]float64{}}, nil
	}
	s.failed = 0
	return f.figures(result), nil
}

func (s *session) server(ctx context.Context, layer string, plan load.Plan) (server *Server, err error) {
	if s.file.Target != nil {
		return &Server{Addr: plan.Target, PID: plan.PID}, nil
	}
	args := s.kind.serve(layer)
	command := strings.Join(args, " ")
	if server = s.servers[command]; server == nil {
		if server, err = s.Start(ctx, args); err != nil {
			return nil, fmt.Errorf("lab %s: %w", command, err)
		}
		s.servers[command] = server
	}
	return server, nil
}

func (f *File) figures(r *load.Result) Run {
	run := Run{Valid: r.Valid && r.Latency != nil, Reason: load.Texts(r.Reasons), Behind: r.Errors == 0 && r.Behind(), Requests: r.Requests, Figures: map[string]float64{}}
	if len(r.Reasons) > 0 {
		run.Code = r.Reasons[0].Code
	}
	all := map[string]float64{}
	if r.Requests > 0 {
		all[Throughput], all[IOPS] = r.Throughput, r.IOPS
	}
	if run.Valid {
		all[Median], all[P99] = float64(r.Latency.P50), float64(r.Latency.P99)
		if r.Jitter > 0 {
			all[Jitter] = float64(r.Jitter)
		}
		if r.Target != nil && r.Target.CPUPerOp > 0 {
			all[TargetCPU] = r.Target.CPUPerOp
		}
	}
	for _, g := range f.Figures {
		if v, ok := all[g.Name]; ok {
			run.Figures[g.Name] = v
		}
	}
	return run
}

const (
	startWithin = 30 * time.Second
	endWithin   = 5 * time.Second
)

// Program starts targets as processes of the program that path names. They end with this one.
func Program(path string) func(context.Context, []string) (*Server, error) {
	return func(ctx context.Context, args []string) (*Server, error) {
		p, err := child.Start(exec.Command(path, args...), "the target")
		if err != nil {
			return nil, err
		}
		line, err := p.Line(ctx, startWithin)
		addr, ok := strings.CutPrefix(line, "listening on ")
		if err == nil && !ok {
			err = fmt.Errorf("its first line is %.100q, not where it listens", line)
		}
		if err != nil {
			p.Stop()
			return nil, err
		}
		p.Discard()
		return &Server{Addr: addr, PID: p.PID(), Ended: p.Ended, Stop: func() { p.End(endWithin) }}, nil
	}
}
