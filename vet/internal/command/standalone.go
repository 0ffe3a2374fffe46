package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/tools/go/analysis"

	"github.com/sluice-go/sluice/vet/internal/driver"
	"github.com/sluice-go/sluice/vet/internal/models"
	"github.com/sluice-go/sluice/vet/ownership"
)

var errFound = errors.New("ownership faults found; they have been printed")

// standalone is the command when it loads the packages itself.
func standalone(args []string, out io.Writer) error {
	var o ownership.Options
	var load driver.LoadOptions
	flags := flag.NewFlagSet("sluicevet", flag.ContinueOnError)
	flags.StringVar(&o.Models, "models", "", "a `file` that adds to the table of models")
	flags.BoolVar(&o.Tests, "tests", false, "look at _test.go files too")
	flags.StringVar(&load.Tags, "tags", "", "build `tags`")
	stats := flags.Bool("stats", false, "print how much was looked at, and how long that took")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: sluicevet [flags] packages\n   or: go vet -vettool=$(which sluicevet) [-models=FILE] packages")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	a, err := ownership.New(o)
	if err != nil {
		return err
	}
	// The packages that use one of the table, or of the file, are looked at too.
	table := models.Default()
	if o.Models != "" {
		if err := table.Load(o.Models); err != nil {
			return err
		}
	}
	load.Tests = o.Tests
	patterns := flags.Args()
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	begin := time.Now()
	p, err := driver.Load(load, table.Package, patterns...)
	if err != nil {
		return err
	}
	for _, pkg := range table.Unmet(p.Paths()) {
		fmt.Fprintln(flags.Output(), "sluicevet:", pkg, "is not imported by what is checked")
	}
	found, err := p.Run(a)
	if err != nil {
		return err
	}
	reports := show(out, p, found)
	if *stats {
		fmt.Fprintf(out, "%d packages, %d lines, %.1f s, %d reports\n", len(p.Packages), p.Lines(), time.Since(begin).Seconds(), reports)
	}
	if len(found) > 0 {
		return errFound
	}
	return nil
}

// show writes one line for each report, with paths from the working directory,
// and returns how many.
func show(out io.Writer, p *driver.Program, found []analysis.Diagnostic) int {
	wd, _ := os.Getwd()
	seen := map[string]bool{}
	for _, d := range found {
		pos := p.Fset.Position(d.Pos)
		if rel, err := filepath.Rel(wd, pos.Filename); err == nil && !strings.HasPrefix(rel, "..") {
			pos.Filename = rel
		}
		line := fmt.Sprintf("%s: %s [%s]", pos, d.Message, d.Category)
		if !seen[line] { // a file may be in a package and in its test
			seen[line] = true
			fmt.Fprintln(out, line)
		}
	}
	return len(seen)
}
