package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/lab/internal/diagnose"
	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/load/wire"
	"github.com/sluice-go/sluice/lab/internal/report"
)

const (
	shortestLook = 100 * time.Millisecond
	longestLook  = evidence.LongestEach
)

type diagnoseFlags struct {
	url, json string
	pid       int
	time      time.Duration

	given func(flag string) bool
	dash  func() int // arguments before --, -1 without it
}

func (a App) diagnose() *cobra.Command {
	var f diagnoseFlags
	cmd := command("diagnose", func(args []string) error { return a.runDiagnose(f, args) })
	flags := cmd.Flags()
	f.given, f.dash = flags.Changed, flags.ArgsLenAtDash
	flags.IntVar(&f.pid, "pid", 0, "look at this process")
	flags.StringVar(&f.url, "url", "", "the `address` of the program's /debug/pprof/, or host:port")
	flags.DurationVar(&f.time, "time", evidence.DefaultEach, "for each tool; the trace and strace take less")
	flags.StringVar(&f.json, "json", "", "write everything as JSON to this `file`, - for standard output")
	return cmd
}

func (f *diagnoseFlags) target(args []string) (t evidence.Target, err error) {
	t = evidence.Target{PID: f.pid, URL: f.url, Name: wire.Public(f.url)}
	switch {
	case f.time < shortestLook || f.time > longestLook:
		return t, fmt.Errorf("--time %v is not within %v to %v", f.time, shortestLook, longestLook)
	case f.given("pid") && f.pid < 1:
		return t, fmt.Errorf("invalid --pid %d", f.pid)
	case f.given("pid") && len(args) > 0:
		return t, errors.New("--pid and a command or file exclude each other")
	case f.url != "" && len(args) > 0 && f.dash() != 0:
		return t, errors.New("--url goes with --pid, with a command behind --, or alone")
	case f.dash() > 0:
		return t, fmt.Errorf("%q stands before --", args[0])
	}
	if f.url != "" {
		if _, err := evidence.ParseURL(f.url); err != nil {
			return t, err
		}
	}
	switch {
	case f.pid > 0:
		t.Name = "process " + strconv.Itoa(f.pid)
		return t, nil
	case f.dash() == 0 && len(args) > 0:
		t.Name, t.Command = wire.Public(strings.Join(args, " ")), args
		return t, nil
	case len(args) == 0 && f.url == "":
		return t, errors.New("what? a command behind --, --pid, --url, or files")
	case len(args) == 0:
		return t, nil
	}
	for _, path := range args {
		if _, err := os.Stat(path); err != nil {
			return t, err
		}
	}
	t.Name, t.Files = strings.Join(args, ", "), args
	return t, nil
}

func (a App) runDiagnose(f diagnoseFlags, args []string) error {
	target, err := f.target(args)
	if err = cmp.Or(err, writable("json", f.json)); err != nil {
		return err
	}
	people := a.people(f.json)
	ctx, stop := interruptible()
	defer stop()

	d := &diagnose.Diagnosis{Origin: a.origin(diagnose.Kind, diagnose.Schema, time.Now())}
	progress, used, all := newProgress(a.Stderr), 0, len(evidence.Tools())-1 // one is of files only
	d.Evidence, err = evidence.Gather(ctx, target, evidence.Options{Each: f.time, Progress: func(tool string) {
		used++
		progress.show(fmt.Sprintf("%d/%d %s", used, all, tool))
	}})
	progress.clear()
	d.Interrupted = ctx.Err() != nil
	if !slices.ContainsFunc(d.Evidence.Tools, func(t evidence.Tool) bool { return t.State == evidence.OK }) {
		if d.Interrupted {
			return &exitError{ExitUnusable, errors.New("diagnose: interrupted before any tool had seen something")}
		}
		return fail(fmt.Errorf("diagnose: %w", err))
	}
	d.Findings, d.Open = diagnose.Diagnose(&d.Evidence)
	failed := errors.Join(printed(people, report.Diagnosis(d)...), a.putJSON(f.json, d))
	if d.Interrupted {
		fmt.Fprintln(people, "interrupted: not all tools were used")
	}
	if failed == nil {
		name, with := f.json, ""
		if name == "" || name == "-" {
			name, with = "FILE", "with --json FILE, then "
		}
		fmt.Fprintf(people, "flame graphs: %slab report %s -o report.html\n", with, name)
	}
	switch {
	case d.Interrupted:
		return &exitError{ExitUnusable, nil}
	case failed != nil:
		return fail(failed)
	case err != nil:
		// The table says what was seen; the tools say why it is not all.
		return fail(fmt.Errorf("diagnose: %w", err))
	}
	return nil
}
