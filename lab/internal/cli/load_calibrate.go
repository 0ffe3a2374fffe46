package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/lab/internal/calibrate"
	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/machine"
)

const calibrateText = `calibrate runs the same load several times as a closed loop and says how far the
figures lie apart: the standard deviation of the throughput over the rounds, and
its share of the mean (coefficient of variation). A difference between two other
runs that is smaller than that is none.

It holds the requests a second against the theory at that --iodepth: by Little's
law, connections * depth / mean service time. What is missing is time in which a
request could have been under way and was not.

Without an address the target is one of its own, in another process, that does
nothing but answer: the figures are those of the generator and the machine.

An interrupt ends it early: rounds that are finished are reported.

Exit codes: 0 done; 1 the target failed, or the file could not be written; 2 wrong
command line; 3 interrupted, or against an address a round was invalid.`

func (c loadCommand) calibration() *cobra.Command {
	f := &loadFlags{plan: load.Default()}
	rounds := 5
	f.plan.Duration = 30 * time.Second
	cmd := &cobra.Command{
		Use:     "calibrate [address[,address...]]",
		Short:   "Run a load several times: how far figures lie apart, and how near the theory they come",
		Long:    calibrateText,
		Example: "  lab load calibrate --conns 16 --iodepth 4 127.0.0.1:7000",
		RunE: func(_ *cobra.Command, args []string) error {
			return c.runCalibrate(f, rounds, args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.shape(flags)
	flags.IntVar(&rounds, "rounds", rounds, "so many rounds")
	flags.DurationVar(&f.plan.Duration, "duration", f.plan.Duration, "of each round, its warm-up aside")
	flags.DurationVar(&f.plan.Warmup, "warmup", f.plan.Warmup, "before each round")
	flags.StringVar(&f.json, "json", "", "write everything as JSON to this `file`, - for standard output")
	return cmd
}

// checkCalibrate holds the flags and the address against each other.
func (f *loadFlags) checkCalibrate(rounds int, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("load calibrate: want one address or none, got %q", args)
	}
	if err := f.checkShape(); err != nil {
		return fmt.Errorf("load calibrate: %w", err)
	}
	f.plan.Target = "127.0.0.1:0" // for Check, until it is known
	if len(args) == 1 {
		f.plan.Target = args[0]
	}
	if err := f.plan.Check(); err != nil {
		return fmt.Errorf("load calibrate: %s", strings.TrimPrefix(err.Error(), "load: "))
	}
	switch {
	case rounds < 1 || rounds > calibrate.MaxRounds:
		return fmt.Errorf("load calibrate: --rounds %d is not within 1 and %d", rounds, calibrate.MaxRounds)
	case f.plan.Duration > calibrate.MaxEach:
		return fmt.Errorf("load calibrate: --duration %v is more than %v", f.plan.Duration, calibrate.MaxEach)
	case len(args) == 0 && (f.plan.PID > 0 || f.plan.Pprof != ""):
		return errors.New("load calibrate: --pid and --pprof go with an address")
	}
	if len(args) == 0 {
		f.plan.Target = ""
	}
	return f.checkFiles()
}

func (c loadCommand) runCalibrate(f *loadFlags, rounds int, args []string) error {
	if err := f.checkCalibrate(rounds, args); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fail(err)
	}
	people := c.Stdout
	if f.json == "-" {
		people = c.Stderr
	}
	ctx, stop := signal.NotifyContext(context.Background(), interrupts()...)
	defer stop()
	if f.plan.Target != "" {
		if err := reachable(ctx, &f.plan); err != nil {
			return loadFailure(ctx, err)
		}
	}
	text := studyPage{loadPage{people}}
	text.head(&f.plan, rounds)
	progress := newLoadProgress(c.Stderr)
	r, err := c.study(ctx, f.plan, rounds, f.plan.Duration, self, func(p calibrate.StudyProgress) {
		switch {
		case p.Done != nil:
			progress.clear()
			text.round(p.Round, p.Done)
		case progress.live:
			progress.show(fmt.Sprintf("round %d of %d  %s", p.Round, p.Rounds, progressText(p.Load)))
		}
	})
	progress.clear()
	if r == nil {
		return loadFailure(ctx, err)
	}
	r.Version, r.Command, r.Machine = buildVersion(), append([]string{"lab"}, c.args...), machine.This()
	text.sums(r)
	return studyVerdict(r, err, c.putJSON(f.json, r))
}

// studyVerdict turns a study into an exit code.
func studyVerdict(r *calibrate.Result, err, written error) error {
	switch {
	case r.Stopped:
		return &exitError{ExitUnusable, nil}
	case errors.Join(err, written) != nil:
		return fail(fmt.Errorf("load calibrate: %w", errors.Join(err, written)))
	}
	for _, round := range r.Rounds {
		// Against a target of its own the generator may well be the limit.
		if !round.Valid && !r.Own {
			return &exitError{ExitUnusable, nil}
		}
	}
	return nil
}
