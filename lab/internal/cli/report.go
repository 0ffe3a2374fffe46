package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/lab/internal/report"
	"github.com/sluice-go/sluice/lab/internal/units"
)

const defaultReport = "sluice-report.html"

func (a App) report() *cobra.Command {
	var f reportFlags
	cmd := command("report", func(args []string) error { return a.runReport(f, args) })
	flags := cmd.Flags()
	f.given, f.flags = flags.Changed, flags.NFlag
	flags.StringVarP(&f.page, "output", "o", defaultReport, "write the page to this `file`")
	flags.BoolVar(&f.benchstat, "benchstat", false, "print benchmark text for benchstat")
	flags.StringVar(&f.baseline, "baseline", "", "compare with this earlier result, a `file`")
	flags.Float64Var(&f.atLeast, "at-least", 0, "with --baseline: the least difference that counts, in `percent` (default 30 for bench, 45 for load)")
	flags.BoolVar(&f.force, "force", false, "with --baseline: compare also what comes from another machine or plan")
	flags.StringVar(&f.results, "results", "", "write recorded.md in this `directory` from the results in its data")
	flags.StringVar(&f.json, "json", "", "with --baseline: write the comparison as JSON to this `file`, - for standard output")
	return cmd
}

type reportFlags struct {
	page, baseline, json string
	results              string
	benchstat, force     bool
	atLeast              float64

	given func(flag string) bool
	flags func() int // how many were given
}

func (f *reportFlags) check(results []string) error {
	inputs := results
	if f.given("baseline") {
		inputs = append([]string{f.baseline}, results...)
	}
	var err error
	switch {
	case len(results) == 0:
		err = errors.New("it takes the results to report on, as files")
	case f.given("baseline") && f.benchstat:
		err = errors.New("--benchstat and --baseline exclude each other")
	case f.given("baseline") && len(results) != 1:
		err = fmt.Errorf("--baseline takes one result to compare with it, got %d", len(results))
	case !f.given("baseline") && (f.given("at-least") || f.force || f.given("json")):
		err = errors.New("--at-least, --force and --json go with --baseline")
	case f.given("at-least") && !(f.atLeast > 0 && f.atLeast <= 1000):
		err = fmt.Errorf("--at-least %v is not within 0 and 1000 per cent", f.atLeast)
	case f.page == "-":
		err = errors.New("-o needs the name of a file")
	}
	taken := map[string]bool{}
	for _, name := range inputs {
		if name == "-" && taken[name] {
			err = errors.Join(err, errors.New("standard input can be only one of the results"))
		}
		taken[filepath.Clean(name)] = true
	}
	outputs := []string{f.json}
	if f.writesPage() {
		outputs = append(outputs, f.page)
	}
	for _, path := range outputs {
		if err == nil && path != "" && path != "-" && taken[filepath.Clean(path)] {
			err = fmt.Errorf("%s is a result or the same file as another output: it would be written over", path)
		}
		taken[filepath.Clean(path)] = true
	}
	return err
}

func (f *reportFlags) writesPage() bool {
	return f.given("output") || !f.benchstat && !f.given("baseline")
}

func (a App) runReport(f reportFlags, names []string) error {
	if f.given("results") && f.flags() > 1 {
		return errors.New("--results takes a directory and no other flags")
	} else if f.given("results") {
		return a.writeResults(f.results, names)
	}
	if err := f.check(names); err != nil {
		return err
	}
	var earlier *report.Result
	if f.baseline != "" {
		var err error
		if earlier, err = report.Open(f.baseline); err != nil {
			return fail(err)
		}
	}
	var results []*report.Result
	for _, name := range names {
		r, err := report.Open(name)
		if err != nil {
			return fail(err)
		}
		results = append(results, r)
	}
	if f.benchstat {
		if err := report.WriteBenchstat(a.Stdout, results); err != nil {
			return fail(err)
		}
	}
	var regression error
	var compared *report.Comparison
	people := a.people(f.json)
	if f.baseline != "" {
		c, err := report.Compare(earlier, results[0], report.Options{AtLeast: f.atLeast / 100, Force: f.force})
		if err != nil {
			text := strings.TrimPrefix(err.Error(), "report: ")
			if errors.Is(err, report.ErrNotComparable) {
				return &exitError{ExitUnusable, errors.New(text)}
			}
			return fail(err)
		}
		if err := errors.Join(printed(people, c.Items()...), a.putJSON(f.json, c)); err != nil {
			return fail(err)
		}
		if c.Regressions > 0 {
			regression = &exitError{ExitMissed, nil}
		}
		results, compared = append([]*report.Result{earlier}, results...), c
	}
	if f.writesPage() {
		err := a.put(f.page, func(w io.Writer) error { return report.WriteReport(w, results, compared) })
		if err != nil {
			return fail(fmt.Errorf("-o: %w", err))
		}
		if !f.benchstat {
			fmt.Fprintf(people, "report: %s\n", f.page)
		}
	}
	return regression
}

func (a App) writeResults(dir string, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("--results takes the results from %s, got %q too", filepath.Join(dir, "data"), args)
	}
	var results []*report.Result
	for _, pattern := range []string{"*.json", "*.json.gz"} {
		paths, err := filepath.Glob(filepath.Join(dir, "data", pattern))
		if err != nil {
			return fail(err)
		}
		for _, path := range paths {
			r, err := report.Open(path)
			if err != nil {
				return fail(err)
			}
			results = append(results, r)
		}
	}
	if len(results) == 0 {
		return fail(fmt.Errorf("report: --results: there are no results in %s", filepath.Join(dir, "data")))
	}
	page := filepath.Join(dir, "recorded.md")
	if err := a.put(page, func(w io.Writer) error { return report.WriteResults(w, results) }); err != nil {
		return fail(err)
	}
	fmt.Fprintf(a.Stdout, "%s: %s\n", page, units.Plural(len(results), "result"))
	return nil
}
