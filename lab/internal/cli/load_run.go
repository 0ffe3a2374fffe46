package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/report"
)

// How long targets are compared, and a step of a search takes, unless --duration says otherwise.
const (
	pairTime   = time.Minute
	searchTime = 3 * time.Second
)

func (c loadCommand) runLoad(f *loadFlags, args []string) error {
	if err := f.check(args); err != nil {
		return err
	}
	people := c.people(f.json)
	ctx, stop := interruptible()
	defer stop()
	if err := reachable(ctx, &f.plan); err != nil {
		return loadFailure(ctx, fmt.Errorf("load: %w", err))
	}
	text := document.NewPrinter(people, colourful(people))
	text.Print(report.LoadHead(&f.plan)...)
	calibration, err := c.calibrated(ctx, f, text)
	if err != nil {
		return loadFailure(ctx, err)
	}
	progress := newProgress(c.Stderr)
	r, err := c.run(ctx, f.plan, progress.load)
	progress.clear()
	if r == nil {
		return loadFailure(ctx, err)
	}
	r.Version, r.Command, r.Machine, r.Calibration = buildVersion(), c.called(), machine.This(), calibration
	text.Print(document.Say(""))
	text.Print(report.LoadResult(r)...)
	err = errors.Join(err, c.putJSON(f.json, r))
	switch {
	case r.Interrupted:
		return &exitError{ExitUnusable, nil}
	case err != nil:
		return fail(err)
	case r.Errors > 0 && !r.Plan.Redial:
		return fail(fmt.Errorf("load: the target failed: %s", r.Error))
	case !r.Valid:
		return &exitError{ExitUnusable, nil}
	}
	return nil
}

// calibrated calibrates the plan, unless that is not asked for, and prints what came of it.
func (c loadCommand) calibrated(ctx context.Context, f *loadFlags, text *document.Printer) (*load.Calibration, error) {
	if f.noCalibration {
		return nil, nil
	}
	found, err := c.calibrate(ctx, f.plan)
	if err == nil {
		f.plan.LateAfter = found.LateAfter
		text.Print(report.LoadCalibration(found)...)
	}
	return found, err
}

func (c loadCommand) runPair(f *loadFlags, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("load: --compare wants two addresses, got %d", len(args))
	}
	if err := cmp.Or(f.check(args[:1]), f.check(args[1:])); err != nil {
		return err
	}
	if !f.changed("duration") {
		f.plan.Duration = pairTime
	}
	people := c.people(f.json)
	ctx, stop := interruptible()
	defer stop()
	if _, err := c.calibrated(ctx, f, document.NewPrinter(people, colourful(people))); err != nil {
		return loadFailure(ctx, err)
	}
	progress, began := newProgress(c.Stderr), time.Now()
	pair, err := load.Compare(ctx, f.plan, [2]string{args[0], args[1]}, func(round int) {
		if progress.live {
			progress.show(fmt.Sprintf("round %d", round))
		}
	})
	progress.clear()
	if err != nil {
		return loadFailure(ctx, err)
	}
	pair.Origin = c.origin(load.PairKind, load.Schema, began)
	if err := errors.Join(printed(people, report.Pair(pair)...), c.putJSON(f.json, pair)); err != nil {
		return fail(err)
	}
	return interruptedEarly(ctx)
}

// interruptedEarly is for a run of which what there was until then has been shown.
func interruptedEarly(ctx context.Context) error {
	if ctx.Err() != nil {
		return &exitError{ExitUnusable, errors.New("load: interrupted: there would have been more")}
	}
	return nil
}

func (c loadCommand) runSearch(f *loadFlags, args []string) error {
	if err := f.check(args); err != nil {
		return err
	}
	limit, err := parseLimit(f.search)
	if err != nil {
		return err
	}
	if !f.changed("duration") {
		f.plan.Duration = searchTime
	}
	people := c.people(f.json)
	ctx, stop := interruptible()
	defer stop()
	if _, err := c.calibrated(ctx, f, document.NewPrinter(people, colourful(people))); err != nil {
		return loadFailure(ctx, err)
	}
	began := time.Now()
	found, err := load.Search(ctx, f.plan, limit, func(s load.Step) { fmt.Fprintln(people, report.StepText(s)) })
	if err != nil || len(found.Steps) == 0 {
		return loadFailure(ctx, err)
	}
	found.Origin = c.origin(load.SearchKind, load.Schema, began)
	if err := errors.Join(printed(people, document.Say(report.FoundText(found))), c.putJSON(f.json, found)); err != nil {
		return fail(err)
	}
	if err := interruptedEarly(ctx); err != nil || found.Rate > 0 {
		return err
	}
	return &exitError{ExitUnusable, nil}
}

func (a App) origin(kind string, schema int, began time.Time) machine.Origin {
	return machine.Origin{Kind: kind, Schema: schema, Version: buildVersion(), Command: a.called(), Machine: machine.This(), Started: began}
}

// reachable tries the target before anything takes time: whether it takes a
// connection.
func reachable(ctx context.Context, p *load.Plan) error {
	ctx, stop := context.WithTimeout(ctx, p.Timeout)
	defer stop()
	var errs []error
	for _, target := range p.Targets() {
		if err := p.Reach(ctx, target); err != nil {
			errs = append(errs, err)
		}
	}
	// With --redial connections look for a target that is there.
	if len(errs) > 0 && (!p.Redial || len(errs) == len(p.Targets())) {
		return errs[0]
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
