package cli

import (
	"github.com/spf13/cobra"
)

const defaultPage = "sluice-bench.html"

const benchText = `bench runs each scenario's variants side by side, in interleaved rounds, and
prints medians, ratios to the strongest usual way of doing the same work, and
their 95 % confidence intervals; ~ where there is no difference. All variants
consume the same bytes, which is checked.

A scenario is named as --list shows it, by the beginning of its name (framing,
framing/good, tcp), or by a glob ('*/worst'). Without names all are run but
four, which have to be named: relay, live relays with up to 1,000 viewers,
takes 7 minutes of its own (with --full 30); cluster, nodes that watch each
other, as long; budget, readers that have to wait for memory, a few seconds a
round; streams/10000 takes 2 GB of memory.

The default takes about a minute and runs every scenario, those that take a
second or more for one round. --quick ends within 20 seconds, wherever it is then.
--full takes up to 15 minutes, with at least 15 rounds of each scenario. Nothing is
judged with fewer than 6 rounds: its targets are undecided, as are those whose bound
is within the interval.

There is one line for each scenario, about the target that is missed or undecided, or
its first; --all prints every variant, and the page has them too.

An interrupt ends the run early: whole rounds are kept and reported.

Exit codes: 0 done; 1 a scenario failed or a file could not be written; 2 wrong
command line; 3 interrupted, or variants did not do the same work; 4 with
--full --check, a target was missed. Targets never fail a run without --check:
noise is no failure.`

func (a App) bench() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:     "bench [scenario...]",
		Short:   "Compare ways to read, pool and pass on bytes, on this machine",
		Long:    benchText,
		Example: "  lab bench --quick framing tcp/128",
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given = cmd.Flags().Changed
			return a.runBench(f, args)
		},
	}
	flags := cmd.Flags()
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

// settings checks the flags against each other and derives how to measure.
