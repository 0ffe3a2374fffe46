package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/report"
)

func (c loadCommand) runLoad(f *loadFlags, args []string) error {
	if err := f.check(args); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fail(err)
	}
	people := c.people(f.json)
	ctx, stop := interruptible()
	defer stop()
	if err := reachable(ctx, &f.plan); err != nil {
		return loadFailure(ctx, err)
	}
	text := document.NewPrinter(people, colourful(people))
	text.Print(report.LoadHead(&f.plan)...)
	progress := newProgress(c.Stderr)
	var calibration *load.Calibration
	if !f.noCalibration {
		if progress.live {
			progress.show("calibrating")
		}
		calibration, err = c.calibrate(ctx, f.plan, self)
		progress.clear()
		if err != nil {
			return loadFailure(ctx, err)
		}
		f.plan.LateAfter = calibration.LateAfter
		text.Print(report.LoadCalibration(calibration, &f.plan)...)
	}
	r, err := c.run(ctx, f.plan, progress.load)
	progress.clear()
	if r == nil {
		return loadFailure(ctx, err)
	}
	r.Version, r.Command, r.Machine, r.Calibration = buildVersion(), c.called(), machine.This(), calibration
	text.Print(document.Say(""))
	text.Print(report.LoadResult(r)...)
	return loadVerdict(r, err, c.putJSON(f.json, r))
}

// origin is what a result of this program begins with.
func (a App) origin(kind string, schema int, began time.Time) machine.Origin {
	return machine.Origin{Kind: kind, Schema: schema, Version: buildVersion(), Command: a.called(), Machine: machine.This(), Started: began}
}

// reachable tries the target before anything takes time: whether it takes a
// connection.
func reachable(ctx context.Context, p *load.Plan) error {
	ctx, stop := context.WithTimeout(ctx, p.Patience)
	defer stop()
	var errs []error
	for _, target := range p.Targets() {
		if err := p.Reach(ctx, target); err != nil {
			errs = append(errs, err)
		}
	}
	// With --redial connections look for a target that is there.
	if len(errs) > 0 && (!p.Redial || len(errs) == len(p.Targets())) {
		return fmt.Errorf("load: %w", errs[0])
	}
	return nil
}

// loadFailure is for a run that has not begun: interrupted, or in vain.
func loadFailure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &exitError{ExitUnusable, errors.New("load: interrupted before anything was measured")}
	}
	return fail(err)
}

// loadVerdict returns the exit code for a result. What has been printed is not
// repeated.
func loadVerdict(r *load.Result, err, written error) error {
	switch {
	case r.Interrupted:
		return &exitError{ExitUnusable, nil}
	case errors.Join(err, written) != nil:
		return fail(errors.Join(err, written))
	case targetFailed(r):
		return fail(fmt.Errorf("load: the target failed: %s", r.Error))
	case !r.Valid:
		return &exitError{ExitUnusable, nil}
	}
	return nil
}

// targetFailed reports whether the target failed. With --redial a failure is
// expected, and only counted.
func targetFailed(r *load.Result) bool {
	return r.Errors > 0 && !r.Plan.Redial
}
