package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose"
	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/planted"
	"github.com/sluice-go/sluice/lab/internal/report"
)

func (a App) runDiagnose(f diagnoseFlags, args []string) error {
	if f.list {
		if len(args) > 0 {
			return errors.New("diagnose: --list goes alone")
		}
		return a.listTargets()
	}
	self, err := os.Executable()
	if err != nil {
		return fail(err)
	}
	dir, err := os.MkdirTemp("", "lab-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	target, err := a.target(&f, args, self, dir)
	if err != nil {
		return fmt.Errorf("diagnose: %w", plainly(err))
	}
	if err := writable(f.json); err != nil {
		return fmt.Errorf("diagnose: --json: %w", err)
	}
	people := a.people(f.json)
	ctx, stop := interruptible()
	defer stop()

	d := &diagnose.Diagnosis{
		Kind: diagnose.Kind, Schema: diagnose.Schema, Version: buildVersion(),
		Command: a.called(), Machine: machine.This(), Started: time.Now(),
	}
	d.Evidence, err = collect(ctx, target, &f, newProgress(a.Stderr))
	if !useful(&d.Evidence) {
		if ctx.Err() != nil {
			return &exitError{ExitUnusable, errors.New("diagnose: interrupted before any tool had seen something")}
		}
		return fail(fmt.Errorf("diagnose: %w", plainly(err)))
	}
	d.Findings, d.Open = diagnose.Diagnose(&d.Evidence)
	tableErr := printed(people, report.Diagnosis(d)...)
	interrupted := ctx.Err() != nil
	if interrupted {
		fmt.Fprintln(people, "interrupted: not all tools were used")
	}
	saveErr := a.putJSON(f.json, d)
	if saveErr == nil {
		fmt.Fprintln(people, flameLine(f.json))
	}
	switch {
	case interrupted:
		return &exitError{ExitUnusable, nil}
	case errors.Join(tableErr, saveErr) != nil:
		return fail(errors.Join(tableErr, saveErr))
	case err != nil:
		// The table says what was seen; the tools say why it is not all.
		return fail(fmt.Errorf("diagnose: %w", plainly(err)))
	}
	return nil
}

// A plainError is an error without the name of the package that it came from.
type plainError struct{ error }

func (e plainError) Error() string {
	return strings.ReplaceAll(e.error.Error(), "evidence: ", "")
}

func (e plainError) Unwrap() error { return e.error }

func plainly(err error) error { return plainError{err} }

// collect takes the evidence of the target.
func collect(ctx context.Context, t evidence.Target, f *diagnoseFlags, progress *progress) (evidence.Evidence, error) {
	used, all := 0, len(f.tools)
	if all == 0 {
		all = len(evidence.Tools())
	}
	defer progress.clear()
	return evidence.Gather(ctx, t, evidence.Options{Each: f.time, Tools: f.tools, Progress: func(tool string) {
		used++
		progress.show(fmt.Sprintf("%d/%d %s", used, all, tool))
	}})
}

// useful reports whether any tool saw something.
func useful(e *evidence.Evidence) bool {
	for _, tool := range e.Tools {
		if tool.State == evidence.OK {
			return true
		}
	}
	return false
}

// flameLine says how to see all of it.
func flameLine(path string) string {
	switch path {
	case "":
		return "flame graphs: again with --json FILE, then lab report FILE -o report.html"
	case "-":
		path = "FILE"
	}
	return fmt.Sprintf("flame graphs: lab report %s -o report.html", path)
}

// listTargets prints the faulty programs, and the scenarios with their variants, in two columns.
func (a App) listTargets() error {
	longest := len("planted/slice-per-packet")
	for _, s := range a.Scenarios {
		longest = max(longest, len(s.Name))
	}
	var b strings.Builder
	for _, p := range planted.All() {
		fmt.Fprintf(&b, "%-*s  %s\n", longest, "planted/"+p.Name, p.Fault)
	}
	for _, s := range a.Scenarios {
		var names []string
		for _, v := range s.Variants {
			names = append(names, v.Name)
		}
		fmt.Fprintf(&b, "%-*s  %s\n", longest, s.Name, strings.Join(names, ", "))
	}
	if _, err := io.WriteString(a.Stdout, b.String()); err != nil {
		return fail(err)
	}
	return nil
}
