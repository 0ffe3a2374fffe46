package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

const defaultReport = "sluice-report.html"

const reportText = `report makes one page of any results that lab wrote with --json. The page opens
without a network, in light and dark, on a phone too, and prints.

With --benchstat it prints benchmark text instead, which benchstat reads.

With --baseline OLD it compares one result with an earlier one of the same kind, of bench
or load. Each row is worse, better, undecided, or ~: no difference beyond noise. At
least --at-least per cent count, the surer the more rows there are. Results of different
machines or plans are not compared unless with --force, and then it says so.

With --results DIR it writes DIR/recorded.md from the results in DIR/data, as the tables in
docs/results are: processors beside each other, with dates and commands.

The result - is standard input.

Exit codes: 0 done, and nothing worse than the baseline; 1 a file could not be
read or written; 2 wrong command line; 3 the results cannot be compared; 4 a
regression beyond noise.`

func (a App) report() *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:     "report result...",
		Short:   "Make a page of results, or compare one with a baseline",
		Long:    reportText,
		Example: "  lab report load.json matrix.json -o report.html",
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given = cmd.Flags().Changed
			if f.given("results") {
				if cmd.Flags().NFlag() > 1 || f.results == "" {
					return errors.New("report: --results takes a directory and no other flags")
				}
				return a.writeResults(f.results, args)
			}
			return a.runReport(f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.page, "output", "o", defaultReport, "write the page to this `file`")
	flags.BoolVar(&f.benchstat, "benchstat", false, "print benchmark text for benchstat")
	flags.StringVar(&f.baseline, "baseline", "", "compare with this earlier result, a `file`")
	flags.Float64Var(&f.atLeast, "at-least", 0, "with --baseline: the least difference that counts, in `percent` (default 30 for bench, 45 for load)")
	flags.BoolVar(&f.force, "force", false, "with --baseline: compare also what comes from another machine or plan")
	flags.StringVar(&f.results, "results", "", "write recorded.md in this `directory` from the results in its data")
	flags.StringVar(&f.json, "json", "", "with --baseline: write the comparison as JSON to this `file`, - for standard output")
	return cmd
}

// check checks that the flags go together, and that what they write is none of the results.
