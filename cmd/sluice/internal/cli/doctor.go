package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/cmd/sluice/internal/doctor"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay"
)

func (a App) doctor() *cobra.Command {
	var asJSON bool
	f := newSettingFlags()
	cmd := &cobra.Command{
		Use:                   "doctor [flags of serve]",
		DisableFlagsInUseLine: true,
		Short:                 "Look whether this machine has what serve needs",
		Long: `doctor looks at this machine for what serve would need with the same flags,
environment and file: descriptors, kernel settings, memory, the clock, free ports,
files and directories that the configuration names. It says what to do, and changes
nothing.

Exit codes: 0 no problem, perhaps warnings; 1 a problem: serve would not start or
would fail; 2 wrong command line or configuration.`,
		Example: "  sluice doctor --config /etc/sluice.yaml",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := f.resolve(cmd.Flags(), os.Getenv)
			if err != nil {
				return fmt.Errorf("doctor: %w", err)
			}
			return a.printFindings(append(faults(relay.Check(&c)), doctor.Look(context.Background(), c)...), asJSON)
		},
	}
	f.addTo(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array of findings")
	return cmd
}

// faults are what serve would refuse in files that the configuration names, a line each in err.
func faults(err error) (findings []doctor.Finding) {
	if err == nil {
		return nil
	}
	for line := range strings.Lines(err.Error()) {
		findings = append(findings, doctor.Finding{Severity: doctor.Problem, What: "configuration", Says: strings.TrimSpace(line)})
	}
	return findings
}

func (a App) printFindings(findings []doctor.Finding, asJSON bool) error {
	var problem error
	for _, f := range findings {
		if f.Severity == doctor.Problem {
			problem = &exitError{ExitFailure, nil}
		}
	}
	if asJSON {
		e := json.NewEncoder(a.Stdout)
		e.SetIndent("", "  ")
		if err := e.Encode(findings); err != nil {
			return fail(err)
		}
		return problem
	}
	for _, f := range findings {
		if _, err := fmt.Fprintf(a.Stdout, "%-8s %s: %s\n", f.Severity, f.What, f.Says); err != nil {
			return fail(err)
		}
	}
	return problem
}
