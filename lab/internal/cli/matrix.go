package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/matrix"
	"github.com/sluice-go/sluice/lab/internal/report"
	"github.com/sluice-go/sluice/lab/internal/units"
)

type matrixFlags struct {
	choice matrix.Choice
	load   loadFlags // of --target
	json   string

	given    func(flag string) bool
	ofTarget []string // flags that go with --target
}

func (a App) matrix() *cobra.Command {
	f := matrixFlags{load: loadFlags{plan: load.Default()}}
	cmd := command("matrix", func(args []string) error { return a.runMatrix(f, args) })
	flags := cmd.Flags()
	f.given = flags.Changed
	flags.StringSliceVar(&f.choice.Layers, "layers", nil, "only these engines, jitters or durabilities")
	flags.StringVar(&f.choice.Rows, "rows", "", "only these `values` of what goes down, such as 64,1KiB")
	flags.StringVar(&f.choice.Columns, "columns", "", "only these `values` of what goes across, such as 1,16")
	flags.BoolVar(&f.choice.Quick, "quick", false, "a coarse grid, within a minute")
	flags.IntVar(&f.choice.Rounds, "rounds", 0, "how often each cell is measured (default 3)")
	flags.DurationVar(&f.choice.Cell, "cell", 0, "time of a run, with its warm-up (default 1s; 2s of the rates)")
	flags.Uint64Var(&f.choice.Seed, "seed", 1, "of the order of the cells")
	flags.StringVar(&f.load.plan.Target, "target", "", "measure on the server at this `address` instead of starting targets; see lab load")
	of := pflag.NewFlagSet("of --target", pflag.ContinueOnError)
	of.SortFlags = false
	of.StringVar((*string)(&f.load.plan.Protocol), "protocol", string(f.load.plan.Protocol), "of --target: frame, ack or echo")
	of.IntVar(&f.load.plan.PID, "pid", 0, "of --target: its process, whose processor time is read")
	f.load.requests.define(of, &f.load.plan)
	of.VisitAll(func(flag *pflag.Flag) { f.ofTarget = append(f.ofTarget, flag.Name) })
	flags.AddFlagSet(of)
	flags.StringVar(&f.json, "json", "", "save to this `file` (default sluice-matrix-GRID.json), - for standard output")
	return cmd
}

func (f *matrixFlags) file(args []string) (file *matrix.File, err error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("want one grid, %s, got %q", strings.Join(matrix.Names(), ", "), args)
	}
	for _, flag := range f.ofTarget {
		if f.given(flag) && !f.given("target") {
			return nil, fmt.Errorf("--%s goes with --target", flag)
		}
	}
	if f.given("target") {
		f.choice.Target = &f.load.plan
		f.load.changed = f.given
		if err = errors.Join(f.load.requests.complete(&f.load.plan.Requests, f.given), f.load.plan.Check(), f.load.checkTarget()); err != nil {
			return nil, err
		}
	}
	switch {
	case f.given("rounds") && (f.choice.Rounds < 1 || f.choice.Rounds > 100):
		return nil, fmt.Errorf("--rounds %d is not within 1 to 100", f.choice.Rounds)
	case f.given("cell") && (f.choice.Cell < 50*time.Millisecond || f.choice.Cell > 10*time.Minute):
		return nil, fmt.Errorf("--cell %v is not within 50ms to 10m", f.choice.Cell)
	}
	if file, err = matrix.New(args[0], f.choice); err != nil {
		return nil, err
	}
	f.json = cmp.Or(f.json, "sluice-matrix-"+args[0]+".json")
	return file, writable("json", f.json)
}

// figuresShown is how many figures of a grid are printed; the page has all.
const figuresShown = 4

func (a App) runMatrix(f matrixFlags, args []string) error {
	file, err := f.file(args)
	if err != nil {
		return err
	}
	file.Version, file.Command = buildVersion(), a.called()
	self, err := os.Executable()
	if err != nil {
		return fail(err)
	}
	people := a.people(f.json)
	ctx, stop := interruptible()
	defer stop()
	if f.choice.Target != nil {
		if err := f.choice.Target.Reach(ctx); err != nil {
			return loadFailure(ctx, fmt.Errorf("matrix: %w", err))
		}
	}
	if err := printed(people, report.MatrixHead(file)...); err != nil {
		return fail(err)
	}
	timers, err := load.Calibrate(ctx, f.load.plan)
	if timers == nil {
		return fail(fmt.Errorf("matrix: the error of timers: %w", err))
	}
	progress := newProgress(a.Stderr)
	measureErr := matrix.Measure(ctx, file, matrix.Options{
		Load: func(ctx context.Context, p load.Plan) (*load.Result, error) {
			p.LateAfter = timers.LateAfter
			return load.Run(ctx, p, nil)
		},
		Start: matrix.Program(self), Progress: progress.matrix,
	})
	progress.clear()
	err = errors.Join(printed(people, report.MatrixResult(file, figuresShown)...), a.putJSON(f.json, file))
	if err == nil && f.json != "-" {
		fmt.Fprintf(people, "\njson: %s\nlab report %s -o report.html makes a page of it\n", f.json, f.json)
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintf(people, "interrupted, %s missing\n", units.Plural(file.Missing(), "run"))
		return &exitError{ExitUnusable, nil}
	case errors.Join(measureErr, err) != nil:
		return fail(errors.Join(measureErr, err))
	case !file.AnyValid():
		return &exitError{ExitUnusable, errors.New("matrix: no run was valid")}
	}
	return nil
}
