package cli

import (
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

// A loadCommand is lab load with what it runs, which tests replace.
type loadCommand struct {
	App
	run       func(context.Context, load.Plan, func(load.Progress)) (*load.Result, error)
	calibrate func(context.Context, load.Plan) (*load.Calibration, error)
}

func (c loadCommand) execute(f *loadFlags, args []string) (err error) {
	var limit load.Limit
	targets := [][]string{args}
	switch {
	case f.compare && len(args) != 2:
		return fmt.Errorf("--compare wants two addresses, got %d", len(args))
	case f.compare:
		targets = [][]string{args[:1], args[1:]}
	}
	for _, target := range targets {
		if err := f.check(target); err != nil {
			return err
		}
	}
	if f.search != "" {
		if limit, err = parseLimit(f.search); err != nil {
			return err
		}
	}
	people := c.people(f.json)
	ctx, stop := interruptible()
	defer stop()
	text := printer(people)
	single := !f.compare && f.search == ""
	if single {
		if err := f.plan.Reach(ctx); err != nil {
			return loadFailure(ctx, fmt.Errorf("load: %w", err))
		}
		text.Print(report.LoadHead(&f.plan)...)
	}
	var calibration *load.Calibration
	if !f.noCalibration {
		if calibration, err = c.calibrate(ctx, f.plan); err != nil {
			return loadFailure(ctx, err)
		}
		f.plan.LateAfter = calibration.LateAfter
		text.Print(report.LoadCalibration(calibration)...)
	}
	switch {
	case f.compare:
		return c.runPair(ctx, f, [2]string{args[0], args[1]}, text)
	case f.search != "":
		return c.runSearch(ctx, f, limit, text)
	}
	return c.runLoad(ctx, f, calibration, text)
}

func (c loadCommand) runLoad(ctx context.Context, f *loadFlags, calibration *load.Calibration, text *document.Printer) error {
	progress := newProgress(c.Stderr)
	r, err := c.run(ctx, f.plan, progress.load)
	progress.clear()
	if r == nil {
		return loadFailure(ctx, err)
	}
	r.Version, r.Command, r.Machine, r.Calibration = buildVersion(), c.called(), machine.This(), calibration
	text.Print(document.Say(""))
	text.Print(report.LoadResult(r)...)
	err = errors.Join(err, text.Err(), c.putJSON(f.json, r))
	switch {
	case r.Interrupted:
		return &exitError{ExitUnusable, nil}
	case err != nil:
		return fail(err)
	case r.Errors > 0 && !r.Plan.Redial:
		return fail(errors.New("load: " + load.Texts(r.Reasons)))
	case !r.Valid:
		return &exitError{ExitUnusable, nil}
	}
	return nil
}

func (c loadCommand) runPair(ctx context.Context, f *loadFlags, targets [2]string, text *document.Printer) error {
	if !f.changed("duration") {
		f.plan.Duration = pairTime
	}
	progress, began := newProgress(c.Stderr), time.Now()
	pair, err := load.Compare(ctx, f.plan, targets, func(round int) {
		if progress.live {
			progress.show(fmt.Sprintf("round %d", round))
		}
	})
	progress.clear()
	if errors.Is(err, load.ErrInvalid) {
		return &exitError{ExitUnusable, err}
	}
	if err != nil {
		return loadFailure(ctx, err)
	}
	pair.Origin = c.origin(load.PairKind, load.Schema, began)
	pair.Interrupted = ctx.Err() != nil
	text.Print(report.Pair(pair)...)
	return c.shown(ctx, f, text, pair)
}

func (c loadCommand) runSearch(ctx context.Context, f *loadFlags, limit load.Limit, text *document.Printer) error {
	if !f.changed("duration") {
		f.plan.Duration = searchTime
	}
	began := time.Now()
	found, err := load.Search(ctx, f.plan, limit, func(s load.Step) { text.Print(report.Step(s)) })
	if err != nil || len(found.Steps) == 0 {
		return loadFailure(ctx, err)
	}
	found.Origin = c.origin(load.SearchKind, load.Schema, began)
	found.Interrupted = ctx.Err() != nil
	text.Print(document.Say(report.FoundText(found)))
	if err := c.shown(ctx, f, text, found); err != nil || found.Rate > 0 {
		return err
	}
	return &exitError{ExitUnusable, nil}
}

// shown writes a result that has been printed; of an interrupted one there is what was known until then.
func (c loadCommand) shown(ctx context.Context, f *loadFlags, text *document.Printer, result any) error {
	if err := errors.Join(text.Err(), c.putJSON(f.json, result)); err != nil {
		return fail(err)
	}
	if ctx.Err() != nil {
		return &exitError{ExitUnusable, errors.New("load: interrupted: there would have been more")}
	}
	return nil
}

func (a App) origin(kind string, schema int, began time.Time) machine.Origin {
	return machine.Origin{Kind: kind, Schema: schema, Version: buildVersion(), Command: a.called(), Machine: machine.This(), Started: began}
}

func loadFailure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &exitError{ExitUnusable, errors.New("interrupted before anything was measured")}
	}
	return fail(err)
}
