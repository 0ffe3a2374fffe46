package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/flv"
)

const probeText = `probe reads an FLV file to its end and prints what is in it and what is wrong with
it: codecs, picture size, frame rate, packets, key frames and the distance between
them, bitrates, metadata, gaps in time and steps back, and an end inside a tag. The
file - is standard input.

Exit codes: 0 the file is whole; 1 it cannot be read, or is not FLV; 2 wrong
command line; 3 it ends inside a tag or stops being FLV somewhere: the report is on
what is before.`

func (a App) flv() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "flv",
		Short:   "Look into FLV files",
		Example: "  sluice flv probe recording.flv",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var asJSON bool
	probe := &cobra.Command{
		Use:     "probe FILE",
		Short:   "Print what is in an FLV file and what is wrong with it",
		Long:    probeText,
		Example: "  sluice flv probe --json recording.flv",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return fmt.Errorf("flv probe: want one file, or - for standard input, got %q", args)
			}
			return a.probe(args[0], asJSON)
		},
	}
	probe.Flags().BoolVar(&asJSON, "json", false, "print the report as one JSON object")
	cmd.AddCommand(probe)
	return cmd
}

// probe prints the report on one file.
func (a App) probe(name string, asJSON bool) error {
	in := os.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return fail(fmt.Errorf("flv probe: %w", err))
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	report, err := flv.Probe(in, flv.ProbeOptions{})
	if err == io.EOF {
		err = fmt.Errorf("it is empty: %w", err)
	}
	if report.Tags.Tags == 0 && err != nil {
		return fail(probeError(name, err))
	}
	if printErr := a.printProbe(name, report, asJSON); printErr != nil {
		return fail(fmt.Errorf("flv probe: %w", printErr))
	}
	switch {
	case err != nil:
		return &exitError{ExitUnusable, probeError(name, err)}
	case report.Truncated != nil:
		return &exitError{ExitUnusable, nil} // the report says it
	}
	return nil
}

func probeError(name string, err error) error {
	return fmt.Errorf("flv probe: %s: %s", name, strings.TrimPrefix(err.Error(), "flv: "))
}

func (a App) printProbe(name string, report flv.Report, asJSON bool) error {
	if !asJSON {
		_, err := report.WriteTo(a.Stdout)
		return err
	}
	out := struct {
		File string `json:"file"`
		flv.Report
		Problems []string `json:"problems"`
	}{name, report, append([]string{}, report.Problems()...)}
	e := json.NewEncoder(a.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(out)
}
