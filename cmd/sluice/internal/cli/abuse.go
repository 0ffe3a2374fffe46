package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/sluicetest/abuse"
)

const abuseText = `abuse tries a streaming server, of any make, by what hostile and broken clients do:
hundreds of numbered cases for RTMP, or for FLV over HTTP and WebSocket, each with
the clause that it comes from and what is expected. A healthy publisher and a
healthy viewer go on meanwhile, and every byte between them is compared.

The server must let a client without a token publish and play in the application.
Only loopback and private addresses are tried unless --i-own-this-server is given.

Exit codes: 0 everything was as expected; 1 the server could not be tried; 2 wrong
command line; 3 interrupted; 4 something was not as expected.`

// Exit codes of abuse besides the common ones.
const (
	exitInterrupted = 3
	exitDeviates    = 4
)

func (a App) abuse() *cobra.Command {
	var (
		o                      abuse.Options
		run, jsonFile, xmlFile string
		list                   bool
		growth                 int
	)
	cmd := &cobra.Command{
		Use:     "abuse rtmp://HOST/APP | http://HOST/APP",
		Short:   "Try a server by what hostile and broken clients do",
		Long:    abuseText,
		Example: "  sluice abuse --pid $(pidof sluice) --junit abuse.xml rtmp://127.0.0.1/live",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("abuse: want one address, rtmp://HOST/APP or http://HOST/APP, got %q", args)
			}
			if run != "" {
				var err error
				if o.Run, err = regexp.Compile(run); err != nil {
					return fmt.Errorf("abuse: --run: %w", err)
				}
			}
			o.Growth = int64(growth) << 20
			if list {
				return a.listCases(args[0], o.Run)
			}
			return a.runAbuse(args[0], o, jsonFile, xmlFile)
		},
	}
	f := cmd.Flags()
	f.StringVar(&run, "run", "", "only cases whose number or title matches this regular expression")
	f.BoolVar(&list, "list", false, "print the cases and do nothing")
	f.StringVar(&jsonFile, "json", "", "write the report to this `file` as JSON; - is standard output")
	f.StringVar(&xmlFile, "junit", "", "write the report to this `file` as JUnit XML; - is standard output")
	f.StringVar(&o.Publish, "publish", "", "where the healthy stream is published, if not at the address that is tried")
	f.IntVar(&o.PID, "pid", 0, "the server's process on this machine, whose memory and descriptors are looked at")
	f.IntVar(&growth, "growth", 64, "how many MiB more than before the process may have at the end")
	f.IntVar(&o.Parallel, "parallel", 8, "how many cases run at a time")
	f.DurationVar(&o.Within, "within", 5*time.Second, "how long the server may take for an answer")
	f.DurationVar(&o.Idle, "idle", 40*time.Second, "how long the server may wait for a client that sends nothing more")
	bound(f, "pid", &o.PID, 0, math.MaxInt32)
	bound(f, "growth", &growth, 0, 1<<20)
	bound(f, "parallel", &o.Parallel, 1, 1024)
	bound(f, "within", &o.Within, time.Millisecond, time.Hour)
	bound(f, "idle", &o.Idle, time.Millisecond, time.Hour)
	f.BoolVar(&o.Own, "i-own-this-server", false, "try it although its address is neither loopback nor private")
	return cmd
}

func (a App) listCases(address string, by *regexp.Regexp) error {
	cases, err := abuse.CasesFor(address)
	if err != nil {
		return err
	}
	for _, c := range cases {
		if by != nil && !by.MatchString(c.ID) && !by.MatchString(c.Title) {
			continue
		}
		if _, err := fmt.Fprintf(a.Stdout, "%-10s %-18s %-24s %s\n", c.ID, c.Expect, c.Clause, c.Title); err != nil {
			return fail(err)
		}
	}
	return nil
}

func (a App) runAbuse(address string, o abuse.Options, jsonFile, xmlFile string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cases, err := abuse.CasesFor(address)
	if err != nil {
		return err
	}
	o.Progress = progress(a.Stderr, len(cases))
	report, err := abuse.Run(ctx, address, o)
	if err != nil {
		if errors.Is(err, abuse.ErrAddress) {
			return fmt.Errorf("%w: --i-own-this-server", err)
		}
		if errors.Is(err, abuse.ErrTarget) {
			return err
		}
		return fail(err)
	}
	out := a.Stdout
	if jsonFile == "-" || xmlFile == "-" {
		out = a.Stderr
	}
	// All are tried: what took minutes is not lost because one file cannot be written.
	err = errors.Join(report.WriteText(out), writeReport(a.Stdout, jsonFile, report.WriteJSON), writeReport(a.Stdout, xmlFile, report.WriteJUnit))
	if err != nil {
		return fail(err)
	}
	switch {
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, nil}
	case !report.Passed():
		return &exitError{exitDeviates, nil}
	}
	return nil
}

// writeReport writes to a file, or to standard output for -; to neither for an empty name.
func writeReport(stdout io.Writer, name string, write func(io.Writer) error) error {
	switch name {
	case "":
		return nil
	case "-":
		return write(stdout)
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// progress prints a line for each twentieth part of all cases.
func progress(w io.Writer, all int) func(abuse.Result) {
	done, failed := 0, 0
	return func(r abuse.Result) {
		if done++; !r.Passed {
			failed++
		}
		if done%max(1, all/20) == 0 || done == all {
			fmt.Fprintf(w, "%d of %d cases, %d not as expected\n", done, all, failed)
		}
	}
}
