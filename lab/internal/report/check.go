package report

import (
	"fmt"
	"math"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose"
	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/matrix"
)

// What a file may hold. A file that says more is not one that this program
// wrote, and pages made of it would be of no use.
const (
	mostFigure    = 1e18 // any figure: bytes a second, nanoseconds
	mostScenarios = 10_000
	mostVariants  = 1_000
	mostRounds    = 100_000
	mostWindows   = 4_000_000
	mostPoints    = 10_000
	mostLayers    = 16
	mostSide      = 64
	mostRuns      = 10_000
	mostFindings  = 10_000
	mostStacks    = 1_000_000
	mostText      = 1 << 16 // of a name
)

// figures checks numbers that everything else computes with.
func figures(what string, values ...float64) error {
	for _, v := range values {
		if math.IsNaN(v) || v < 0 || v > mostFigure {
			return fmt.Errorf("%s is %v", what, v)
		}
	}
	return nil
}

func times(what string, values ...time.Duration) error {
	for _, v := range values {
		if v < 0 {
			return fmt.Errorf("%s is %v", what, v)
		}
	}
	return nil
}

func counts(what string, n, most int) error {
	if n > most {
		return fmt.Errorf("%d %s, at most %d are read", n, what, most)
	}
	return nil
}

// first returns the first error that there is.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func checkBench(f *File) error {
	if err := counts("scenarios", len(f.Scenarios), mostScenarios); err != nil {
		return err
	}
	if err := figures("the time that it took", f.Seconds); err != nil {
		return err
	}
	for i := range f.Scenarios {
		o := &f.Scenarios[i]
		if o.Name == "" {
			return fmt.Errorf("scenario %d has no name", i)
		}
		err := first(counts("variants", len(o.Variants), mostVariants), counts("rounds", o.Rounds, mostRounds), consistent(o))
		for _, v := range o.Variants {
			for _, turn := range v.Turns {
				for metric, value := range turn.Figures {
					err = first(err, figures(metric+" of "+v.Name, math.Abs(value))) // a difference may be negative
				}
			}
			err = first(err, figures("the place of "+v.Name, v.X))
		}
		if err != nil {
			return fmt.Errorf("scenario %q: %w", o.Name, err)
		}
	}
	return nil
}

func checkLoad(r *load.Result) error {
	if !r.Valid {
		// There is no latency of such a run, whatever the file says.
		r.Latency, r.Service, r.P99s, r.Due, r.Jitters, r.Jitter = nil, nil, nil, nil, nil, 0
	}
	err := first(
		counts("windows", max(len(r.Series), len(r.P99s), len(r.Due), len(r.Jitters)), mostWindows),
		figures("a rate", r.IOPS, r.Throughput, r.Plan.Rate), figures("a share", r.Late, r.Shortfall, r.Busy),
		times("a time", r.Measured, r.Jitter, r.LateAfter, r.Plan.Duration, r.Plan.Warmup),
		checkDistribution("latency", r.Latency), checkDistribution("service", r.Service), checkUse("generator", &r.Generator), checkUse("target", r.Target),
	)
	if err == nil && r.Calibration != nil {
		c := r.Calibration
		err = first(checkDistribution("timer", &c.Timer), checkDistribution("loopback", &c.Loopback), figures("the ceiling", c.Ceiling, c.CeilingCPU), times("the timer's error", c.LateAfter))
	}
	var last time.Duration
	for i, s := range r.Series {
		err = first(err, inOrder("window", i, &last, s.At), figures("a rate in the series", s.Rate, s.Mean))
	}
	last = 0
	for _, w := range r.Due {
		err = first(err, times("a latency in a window", w.P50, w.P99, w.P999, w.Max))
	}
	for i, p := range r.P99s {
		err = first(err, inOrder("P99", i, &last, p.At), times("a P99", p.P99))
	}
	last = 0
	for i, s := range r.Jitters {
		err = first(err, inOrder("jitter", i, &last, s.At), times("a jitter", s.StdDev))
	}
	return err
}

func inOrder(what string, i int, last *time.Duration, at time.Duration) error {
	if at < *last {
		return fmt.Errorf("%s %d ends at %v, the one before at %v", what, i, at, *last)
	}
	*last = at
	return nil
}

func checkDistribution(name string, d *load.Distribution) error {
	if d == nil {
		return nil
	}
	if err := first(counts("points", len(d.Curve), mostPoints), times(name, d.Min, d.Mean, d.P50, d.P90, d.P99, d.P999, d.Max)); err != nil {
		return err
	}
	last := load.Quantile{}
	for _, q := range d.Curve {
		if !(q.Q >= last.Q && q.Q <= 1) || q.At < last.At {
			return fmt.Errorf("%s: a share of %v at %v behind one of %v at %v", name, q.Q, q.At, last.Q, last.At)
		}
		last = q
	}
	return nil
}

func checkUse(name string, u *load.Use) error {
	if u == nil {
		return nil
	}
	err := first(times(name+"'s time", u.CPU, u.User, u.System), figures(name+"'s use", u.CPUPerOp, float64(u.Resident)))
	for _, p := range []*float64{u.SyscallsPerOp, u.AllocsPerOp, u.ResidentPerConn} {
		if p != nil {
			err = first(err, figures(name+"'s use", *p))
		}
	}
	if u.GCPause != nil {
		err = first(err, times(name+"'s pauses", *u.GCPause))
	}
	return err
}

func checkMatrix(f *matrix.File) error {
	err := first(
		counts("layers", len(f.Layers), mostLayers), counts("rows", len(f.Rows.Values), mostSide), counts("columns", len(f.Columns.Values), mostSide),
		counts("figures", len(f.Figures), mostSide), checkAxis(f.Rows), checkAxis(f.Columns), figures("the time that it took", f.Seconds), times("a cell's time", f.CellTime),
	)
	if err != nil {
		return err
	}
	named := map[string]bool{}
	for _, figure := range f.Figures {
		if figure.Name == "" || named[figure.Name] {
			return fmt.Errorf("the figure %q is there twice or has no name", figure.Name)
		}
		named[figure.Name] = true
	}
	taken := map[[3]int]bool{}
	for _, c := range f.Cells {
		at := [3]int{c.Layer, c.Row, c.Column}
		if !within(c.Layer, len(f.Layers)) || !within(c.Row, len(f.Rows.Values)) || !within(c.Column, len(f.Columns.Values)) || taken[at] {
			return fmt.Errorf("there is no cell %v, or it is there twice", at)
		}
		taken[at] = true
		if err := counts("runs", len(c.Runs), mostRuns); err != nil {
			return err
		}
		for name, value := range c.Noise {
			if err := figures("the noise of "+name, value); err != nil {
				return fmt.Errorf("cell %v: %w", at, err)
			}
		}
		for _, run := range c.Runs {
			for name, value := range run.Figures {
				if err := figures(name, value); err != nil {
					return fmt.Errorf("cell %v: %w", at, err)
				}
			}
		}
	}
	for _, k := range f.Knees {
		if !within(k.Layer, len(f.Layers)) || !within(k.Column, len(f.Columns.Values)) || k.Row != nil && !within(*k.Row, len(f.Rows.Values)) {
			return fmt.Errorf("a knee %q beside the grid", k.Label)
		}
	}
	return nil
}

func within(i, n int) bool { return i >= 0 && i < n }

func checkAxis(a matrix.Axis) error {
	if len(a.Values) != len(a.Labels) {
		return fmt.Errorf("the axis %q has %d values and %d labels", a.Name, len(a.Values), len(a.Labels))
	}
	return figures("a value of the axis "+a.Name, a.Values...)
}

func checkDiagnosis(d *diagnose.Diagnosis) error {
	e := &d.Evidence
	if err := first(counts("findings", len(d.Findings), mostFindings), times("the time that it took", e.Took, e.CPUTime)); err != nil {
		return err
	}
	for _, f := range d.Findings {
		if err := figures("the share or cost of "+f.Top, f.Share, f.Score); err != nil {
			return err
		}
	}
	profiles := []*evidence.Profile{e.CPU, e.Space, e.Allocs, e.Mutex, e.Block}
	if e.Perf != nil {
		profiles = append(profiles, e.Perf.Profile)
	}
	for _, p := range profiles {
		if p == nil {
			continue
		}
		if err := counts("stacks", len(p.Stacks), mostStacks); err != nil {
			return err
		}
		for _, s := range p.Stacks {
			if s.Value < 0 {
				return fmt.Errorf("a stack of %d %s", s.Value, p.Unit)
			}
		}
	}
	if s := e.Scaling; s != nil {
		if len(s.Procs) != len(s.OpsPerSec) {
			return fmt.Errorf("scaling over %d numbers of processors and %d speeds", len(s.Procs), len(s.OpsPerSec))
		}
		return first(figures("a speed", s.OpsPerSec...), figures("processor time", s.CPUPerOp...))
	}
	return nil
}
