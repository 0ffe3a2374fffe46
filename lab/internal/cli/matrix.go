package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/matrix"
)

const matrixText = `matrix measures a grid: how throughput and latency change over two or three things
at once.

  size-conns       64 B to 1 MiB by 1 to 1,024 connections, for each engine of lab
                   echo, with the knee: the fewest connections that are as good as any
  rate-network     requests at a rate by the network's latency, for several jitters
  rate-durability  records a second by 1 to 256 KiB, for each durability of lab sink
  buffer           buffers for reading by those for writing, for each engine, with the knee

It starts the targets itself; with --target the first two are measured on any server that
lab load can put load on. Cells are measured in each of three rounds, in an order drawn from
the seed. A cell in which the generator was the limit says so and has no figure.

Every run is saved at once to --json; --resume goes on with what is missing.

Exit codes: 0 done; 1 a target or a file failed; 2 wrong command line, or a file
to resume that is of something else; 3 interrupted, out of time with cells that
have no run, or no run was valid.`

// matrixFlags are the flags as given.
type matrixFlags struct {
	choice       matrix.Choice
	load         loadFlags // of --target
	seed         uint64
	time         time.Duration
	json, resume string
	again        bool

	given func(flag string) bool
	text  func(flag string) string
}

func (a App) matrix() *cobra.Command {
	f := matrixFlags{load: loadFlags{plan: load.Default()}}
	cmd := &cobra.Command{
		Use:     "matrix grid",
		Short:   "Measure a grid: sizes by connections, rates by durability, buffers",
		Long:    matrixText,
		Example: "  lab matrix size-conns --quick --layers std,bufreader",
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given = cmd.Flags().Changed
			f.text = func(flag string) string { return strings.Trim(cmd.Flag(flag).Value.String(), "[]") }
			return a.runMatrix(f, args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringSliceVar(&f.choice.Layers, "layers", nil, "only these engines, durabilities or jitters")
	flags.StringVar(&f.choice.Rows, "rows", "", "only these `values` of what goes down, such as 64,1KiB")
	flags.StringVar(&f.choice.Columns, "columns", "", "only these `values` of what goes across, such as 1,16")
	flags.BoolVar(&f.choice.Quick, "quick", false, "a coarse grid, within a minute")
	flags.IntVar(&f.choice.Rounds, "rounds", 0, "how often each cell is measured (default 3)")
	flags.DurationVar(&f.choice.Cell, "cell", 0, "time of a run, with its warm-up (default 1s; 2s of the rates)")
	flags.DurationVar(&f.time, "time", 0, "the most that it may take; --resume goes on with the rest")
	flags.Uint64Var(&f.seed, "seed", 1, "of the order of the cells")
	flags.StringVar(&f.load.plan.Target, "target", "", "measure on the server at this `address` instead of starting targets; see lab load")
	flags.StringVar((*string)(&f.load.plan.Protocol), "protocol", string(f.load.plan.Protocol), "of --target: frame, ack or echo")
	flags.IntVar(&f.load.plan.PID, "pid", 0, "of --target: its process, whose processor time is read")
	f.load.defineTarget(flags)
	flags.StringVar(&f.json, "json", "", "save to this `file` (default sluice-matrix-GRID.json), - for standard output at the end")
	flags.StringVar(&f.resume, "resume", "", "go on with what is missing in this `file`, or with --rounds in more rounds")
	flags.BoolVar(&f.again, "again", false, "begin anew in spite of a file that is not finished")
	return cmd
}

// settings checks that the flags and arguments go together and fills in the
// choice.
func (f *matrixFlags) settings(args []string) (grid string, err error) {
	if len(args) != 1 {
		return "", fmt.Errorf("matrix: want one grid, %s, got %q", strings.Join(matrix.Names(), ", "), args)
	}
	grid = args[0]
	if _, err := matrix.LayerName(grid); err != nil {
		return "", fmt.Errorf("matrix: %w", err)
	}
	if f.given("seed") {
		f.choice.Seed = &f.seed
	}
	if f.given("target") {
		f.choice.Target, f.load.changed = &f.load.plan, f.given
		if err = f.load.checkTarget(); err == nil {
			err = f.load.plan.Check()
		}
	}
	for _, flag := range []string{"layers", "rows", "columns", "json", "resume", "target"} {
		if f.given(flag) && f.text(flag) == "" {
			err = fmt.Errorf("--%s names none", flag)
		}
	}
	for _, flag := range []string{"layers", "rows", "columns", "cell", "seed", "quick", "target"} {
		if f.given("resume") && f.given(flag) {
			err = fmt.Errorf("--resume goes on with what the file has: it goes without --%s", flag)
		}
	}
	switch {
	case err != nil:
	case f.given("rounds") && (f.choice.Rounds < 1 || f.choice.Rounds > 100):
		err = fmt.Errorf("--rounds %d is not within 1 to 100", f.choice.Rounds)
	case f.given("cell") && (f.choice.Cell < 50*time.Millisecond || f.choice.Cell > 10*time.Minute):
		err = fmt.Errorf("--cell %v is not within 50ms to 10m", f.choice.Cell)
	case f.given("time") && (f.time < time.Second || f.time > 24*time.Hour):
		err = fmt.Errorf("--time %v is not within 1s to 24h", f.time)
	}
	if err != nil {
		return "", fmt.Errorf("matrix: %w", err)
	}
	if f.json == "" {
		if f.json = f.resume; f.json == "" {
			f.json = "sluice-matrix-" + grid + ".json"
		}
	}
	if f.choice.Quick && f.time == 0 {
		f.time = quickMatrix
	}
	return grid, nil
}

// quickMatrix is what --quick may take, with the start and the end of targets
// less than a minute.
const quickMatrix = 52 * time.Second
