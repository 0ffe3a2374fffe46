package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/measure"
	"github.com/sluice-go/sluice/lab/internal/proc"
	"github.com/sluice-go/sluice/lab/internal/report"
)

const defaultPage = "sluice-bench.html"

func (a App) bench() *cobra.Command {
	var f benchFlags
	cmd := command("bench", func(args []string) error { return a.runBench(f, args) })
	flags := cmd.Flags()
	f.given = flags.Changed
	flags.BoolVar(&f.list, "list", false, "list the scenarios and do nothing else")
	flags.BoolVar(&f.quick, "quick", false, "end within 20 seconds")
	flags.BoolVar(&f.full, "full", false, "take up to 15 minutes and decide")
	flags.BoolVar(&f.all, "all", false, "print every variant of every scenario")
	flags.BoolVar(&f.check, "check", false, "with --full: exit with 4 when a target is missed")
	flags.StringVar(&f.page, "html", defaultPage, "write the report to this `file`; none with --html=")
	flags.StringVar(&f.json, "json", "", "write everything as JSON to this `file`, - for standard output")
	flags.IntVar(&f.rounds, "rounds", 0, "exactly so many rounds of each scenario")
	flags.DurationVar(&f.time, "time", 0, "time for all scenarios together, such as 30s or 5m")
	flags.Uint64Var(&f.seed, "seed", 1, "of the sizes that are drawn and of the order within rounds")
	return cmd
}

type benchFlags struct {
	list, quick, full, all, check bool
	page, json                    string
	rounds                        int
	time                          time.Duration
	seed                          uint64

	given func(flag string) bool
}

func (f *benchFlags) settings() (mode string, s measure.Settings, err error) {
	full := measure.Full()
	switch {
	case f.quick && f.full:
		err = errors.New("--quick and --full exclude each other")
	case f.check && !f.full:
		err = errors.New("--check goes with --full: shorter runs do not decide")
	case f.given("rounds") && (f.rounds < 1 || f.rounds > 1000):
		err = fmt.Errorf("--rounds %d is not within 1 to 1000", f.rounds)
	case f.check && f.given("rounds") && f.rounds < full.MinRounds:
		err = fmt.Errorf("--check needs at least %d rounds", full.MinRounds)
	case f.given("time") && (f.time < time.Second || f.time > 24*time.Hour):
		err = fmt.Errorf("--time %v is not within 1s to 24h", f.time)
	case f.page == "-":
		err = errors.New("--html needs the name of a file")
	}
	switch {
	case err != nil:
		return "", s, err
	case f.quick:
		mode, s = "quick", measure.Quick()
	case f.full:
		mode, s = "full", full
	default:
		mode, s = "normal", measure.Normal()
	}
	if f.given("time") {
		s = s.WithBudget(f.time)
	}
	if f.given("rounds") {
		s = s.WithRounds(f.rounds)
	}
	return mode, s, nil
}

// checkOutputs makes sure that the files of a run can be written, and not only at its end. A
// page that was not asked for by name is left out where it cannot be written.
func (a App) checkOutputs(f *benchFlags) error {
	if f.json != "" && filepath.Clean(f.json) == filepath.Clean(f.page) {
		return errors.New("--json and --html name the same file")
	}
	if err := writable("json", f.json); err != nil {
		return err
	}
	err := writable("html", f.page)
	if err != nil && !f.given("html") {
		fmt.Fprintf(a.Stderr, "lab: no report here: %v\n", err)
		f.page = ""
		return nil
	}
	return err
}

func (a App) runBench(f benchFlags, patterns []string) error {
	mode, settings, err := f.settings()
	if err != nil {
		return err
	}
	if f.list && len(patterns) == 0 {
		return a.list(a.Scenarios)
	}
	chosen, err := choose(a.Scenarios, patterns)
	if err != nil {
		return err
	}
	if f.list {
		return a.list(chosen)
	}
	if err := a.checkOutputs(&f); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fail(err)
	}

	results := &report.File{
		Origin: a.origin(report.KindBench, report.Schema, time.Now()), Mode: mode, Seed: f.seed,
	}
	people := a.people(f.json)
	ctx, stop := interruptible()
	defer stop()
	table := printer(people)
	table.Print(report.BenchHead(results.Machine)...)

	others, progress := proc.ReadOthers(), newProgress(a.Stderr)
	results.Scenarios, err = measure.Run(ctx, chosen, measure.Options{
		Settings: settings, Seed: f.seed, Self: self, Full: f.full, Quick: f.quick,
		Progress: func(e measure.Event) {
			progress.bench(e)
			if f.all && e.Outcome != nil {
				table.Print(report.Scenario(e.Outcome))
			}
		},
	})
	progress.clear()
	if err != nil {
		return fail(err)
	}
	results.Others, results.Processors = others.To(proc.ReadOthers())
	results.Seconds = time.Since(results.Started).Seconds()
	results.Interrupted = ctx.Err() != nil
	if !f.all {
		table.Print(report.Verdicts(results))
	}
	table.Print(report.BenchFoot(results)...)

	errs := []error{table.Err()}
	for _, o := range []struct {
		flag, name, path string
		form             func(io.Writer) error
	}{{"json", "json", f.json, results.Save}, {"html", "report", f.page, results.WriteHTML}} {
		if o.path == "" {
			continue
		}
		if err := a.put(o.path, o.form); err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", o.flag, err))
		} else if o.path != "-" {
			fmt.Fprintf(people, "%s: %s\n", o.name, o.path)
		}
	}
	return verdict(results, f.check, errors.Join(errs...))
}

func verdict(results *report.File, check bool, err error) error {
	some := func(state measure.State) bool {
		return slices.ContainsFunc(results.Scenarios, func(o measure.Outcome) bool { return o.State == state })
	}
	switch {
	case results.Interrupted:
		return &exitError{ExitUnusable, nil}
	case err != nil:
		return fail(err)
	case some(measure.Failed):
		return &exitError{ExitFailure, nil}
	case some(measure.Invalid):
		return &exitError{ExitUnusable, nil}
	case check && !report.Holds(results.Summaries()):
		return &exitError{ExitMissed, nil}
	}
	return nil
}

func (a App) list(scenarios []lab.Scenario) error {
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	for _, s := range scenarios {
		fmt.Fprintf(w, "%s\t%s\n", s.Name, s.Title)
	}
	return fail(w.Flush())
}

// choose picks the scenarios that the patterns name, in their own order, or all that need not
// be named when there are no patterns. A pattern is a name, the beginning of one, or a glob in
// which * stands for anything but a slash. The narrowest reading that finds something holds:
// "idle" is the scenario of that name if there is one, else the group idle/, else all names that begin so.
func choose(all []lab.Scenario, patterns []string) ([]lab.Scenario, error) {
	if len(patterns) == 0 {
		return slices.DeleteFunc(slices.Clone(all), func(s lab.Scenario) bool { return s.Named }), nil
	}
	chosen := map[string]bool{}
	for _, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("bad pattern %q", pattern)
		}
		found := false
		for _, match := range []func(name string) bool{
			func(name string) bool { return name == pattern },
			func(name string) bool { return strings.HasPrefix(name, strings.TrimSuffix(pattern, "/")+"/") },
			func(name string) bool { return strings.HasPrefix(name, pattern) },
			func(name string) bool { return globs(pattern, name) },
		} {
			for i := 0; i < len(all) && pattern != ""; i++ {
				if match(all[i].Name) {
					chosen[all[i].Name], found = true, true
				}
			}
			if found {
				break
			}
		}
		if !found {
			return nil, fmt.Errorf("no scenario matches %q; see lab bench --list", pattern)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(s lab.Scenario) bool { return !chosen[s.Name] }), nil
}

// globs reports whether a glob matches a name, or a group that the name is in, so
// that "t*" matches what "tcp" matches.
func globs(pattern, name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}
