package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sluice-go/sluice/lab/internal/calibrate"
	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/matrix"
	"github.com/sluice-go/sluice/lab/internal/report"
)

func (a App) runMatrix(f matrixFlags, args []string) error {
	grid, err := f.settings(args)
	if err != nil {
		return err
	}
	file, err := f.file(grid)
	if err != nil {
		return err
	}
	file.Version, file.Command = buildVersion(), append([]string{"lab"}, a.args...)
	self, err := os.Executable()
	if err != nil {
		return fail(err)
	}
	people := a.people(f.json)
	var save func(*matrix.File) error
	if f.json != "-" {
		save = func(file *matrix.File) error { return file.Save(f.json) }
	}
	ctx, stop := interruptible()
	defer stop()

	missing := file.Missing()
	if err := printed(people, report.MatrixHead(file)...); err != nil {
		return fail(err)
	}
	late, err := lateAfter(ctx)
	if err != nil {
		return fail(fmt.Errorf("matrix: the error of timers: %w", err))
	}
	progress := newProgress(a.Stderr)
	measureErr := matrix.Measure(ctx, file, matrix.Options{
		Load: func(ctx context.Context, p load.Plan) (*load.Result, error) {
			p.LateAfter = late
			return load.Run(ctx, p, nil)
		},
		Start: matrix.Program{Path: self}.Start,
		Save:  save, Progress: progress.matrix, Limit: f.time,
	})
	progress.clear()
	interrupted := ctx.Err() != nil
	done := missing - file.Missing()
	if f.json != "-" && done == 0 && measureErr != nil {
		// Nothing has been saved, and nothing is there to be shown.
		if interrupted {
			return &exitError{ExitUnusable, errors.New("matrix: interrupted before the first run ended")}
		}
		if errors.Is(measureErr, matrix.ErrTime) {
			return &exitError{ExitUnusable, measureErr}
		}
		return fail(measureErr)
	}
	errs := []error{printed(people, report.MatrixResult(file, figuresShown)...)}
	if f.json == "-" {
		errs = append(errs, file.Write(a.Stdout))
	} else {
		fmt.Fprintf(people, "\njson: %s\nlab report %s -o report.html makes a page of it\n", f.json, f.json)
	}
	return a.matrixVerdict(people, file, f.json, measureErr, interrupted, errors.Join(errs...))
}

// figuresShown is how many figures of a grid are printed; the page has all.
const figuresShown = 3

// lateAfter is how late a send may be on this machine, as load.Calibration has it:
// what its timers are, at least 1 ms.
func lateAfter(ctx context.Context) (time.Duration, error) {
	d, err := calibrate.Timer(ctx, 200)
	if err != nil && ctx.Err() == nil {
		return 0, err
	}
	return max(d.P99.Round(10*time.Microsecond), time.Millisecond), nil
}

// file returns what to measure: a new file, or one that was read to continue it.
func (f *matrixFlags) file(grid string) (*matrix.File, error) {
	if f.resume == "" {
		file, err := matrix.New(grid, f.choice)
		if err != nil {
			return nil, fmt.Errorf("matrix: %w", err)
		}
		return file, f.placeFor()
	}
	file, err := loadMatrix(f.resume)
	if err == nil {
		err = file.Resume(grid, f.choice.Rounds)
	}
	if err != nil {
		return nil, fmt.Errorf("matrix: --resume %s: %w", f.resume, err)
	}
	return file, f.placeFor()
}

func loadMatrix(name string) (*matrix.File, error) {
	r, err := report.Open(name)
	if err != nil {
		return nil, err
	}
	if r.Matrix == nil {
		return nil, fmt.Errorf("%s: a result of %s, not of matrix", name, r.Kind)
	}
	return r.Matrix, nil
}

// placeFor checks that the results can be written, and that they do not
// overwrite results that the user may want to continue.
func (f *matrixFlags) placeFor() error {
	if err := writable(f.json); err != nil {
		return fmt.Errorf("matrix: --json: %w", err)
	}
	if f.json == f.resume || f.json == "-" || f.again {
		return nil
	}
	if old, err := loadMatrix(f.json); err == nil && old.Interrupted {
		return fmt.Errorf("matrix: %s has a grid that is not finished: go on with --resume %s, name another with --json, or begin anew with --again", f.json, f.json)
	}
	return nil
}

// matrixVerdict returns the exit code for a run.
func (a App) matrixVerdict(people io.Writer, file *matrix.File, name string, measureErr error, interrupted bool, err error) error {
	unfinished := interrupted || errors.Is(measureErr, matrix.ErrTime)
	if unfinished && name != "-" {
		why := "interrupted"
		if !interrupted {
			why = "out of time"
		}
		fmt.Fprintf(people, "%s, %d runs are missing: lab matrix %s --resume %s goes on\n", why, file.Missing(), file.Name, name)
	}
	switch {
	case interrupted, unfinished && file.AnyMissing():
		return &exitError{ExitUnusable, nil}
	case unfinished:
		return nil // every cell has a figure
	case measureErr != nil:
		return fail(measureErr)
	case err != nil:
		return fail(err)
	case !file.AnyValid():
		return &exitError{ExitUnusable, errors.New("matrix: no run was valid")}
	}
	return nil
}
