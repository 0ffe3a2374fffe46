package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/report"
	"github.com/sluice-go/sluice/lab/internal/units"
)

func (a App) runReport(f reportFlags, names []string) error {
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
		if err := printed(people, c.Items()...); err != nil {
			return fail(err)
		}
		if err := a.putJSON(f.json, c); err != nil {
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
		return fmt.Errorf("report: --results takes the results from %s, got %q too", filepath.Join(dir, "data"), args)
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
