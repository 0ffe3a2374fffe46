package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/lab/internal/matrix"
)

const matrixText = `matrix measures a grid: how throughput and latency change over two things at
once. It starts the targets itself, as processes of this program.

  size-conns       sizes of 64 B to 1 MiB by 1 to 1,024 connections, for each
                   engine of lab echo: throughput, P99, and the knee, the most
                   connections that still pay
  rate-durability  50 to 400 records a second, and as many as it takes (max), by
                   1 to 256 KiB, for each durability of lab sink: throughput,
                   latency, P99 and its jitter
  buffer           buffers of 4 KiB to 1 MiB for reading by those for writing, for
                   each engine: IOPS, latency, and the knee, the smallest buffers
                   that are as good as any

Each cell is measured for a second (two for rate-durability; longer where more is
under way than passes in that time), a quarter of which is the warm-up, in each of
three rounds, which go through all cells in an order that is drawn from the seed.
What that takes is said first. Cells whose runs are far apart are measured up to two
times more. --quick takes a coarse grid and ends within a minute.

Every run is saved at once to --json. An interrupt keeps whole runs; --resume goes
on with what is missing, with the seed, rounds and axes that the file has.

Exit codes: 0 done; 1 a target or a file failed; 2 wrong command line, or a file
to resume that is of something else; 3 interrupted, out of time with cells that
have no run, or no run was valid.`

// matrixFlags are the flags as given.
type matrixFlags struct {
	choice        matrix.Choice
	engine, modes []string
	quick, force  bool
	seed          uint64
	time          time.Duration
	json, resume  string

	given func(flag string) bool
}

func (a App) matrix() *cobra.Command {
	var f matrixFlags
	cmd := &cobra.Command{
		Use:     "matrix grid",
		Short:   "Measure a grid: sizes by connections, rates by durability, buffers",
		Long:    matrixText,
		Example: "  lab matrix size-conns --quick --engine std,bufreader",
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given = cmd.Flags().Changed
			return a.runMatrix(f, args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringSliceVar(&f.engine, "engine", nil, "of size-conns and buffer: std, aio, bufreader; all unless told")
	flags.StringSliceVar(&f.modes, "durability", nil, "of rate-durability: async, sync, raft; all unless told")
	flags.StringVar(&f.choice.Rows, "rows", "", "only these `values` of what goes down, such as 64,1KiB..64KiB")
	flags.StringVar(&f.choice.Columns, "columns", "", "only these `values` of what goes across, such as 1,16")
	flags.BoolVar(&f.quick, "quick", false, "a coarse grid, within a minute")
	flags.IntVar(&f.choice.Rounds, "rounds", 0, "how often each cell is measured (default 3)")
	flags.DurationVar(&f.choice.Cell, "cell", 0, "time of a run, with its warm-up (default 1s; 2s of rate-durability)")
	flags.DurationVar(&f.time, "time", 0, "the most that all may take: fewer rounds, then shorter runs")
	flags.Uint64Var(&f.seed, "seed", 1, "of the order of the cells")
	flags.StringVar(&f.json, "json", "", "save to this `file` (default sluice-matrix-GRID.json), - for standard output at the end")
	flags.StringVar(&f.resume, "resume", "", "go on with what is missing in this `file`")
	flags.BoolVar(&f.force, "force", false, "resume a file of another machine, seed or grid, as far as it fits; begin anew in spite of one that is not finished")
	return cmd
}

// settings checks that the flags and arguments go together and fills in the
// choice.
func (f *matrixFlags) settings(args []string) (grid string, err error) {
	if len(args) != 1 {
		return "", fmt.Errorf("matrix: want one grid, %s, got %q", strings.Join(matrix.Names(), ", "), args)
	}
	grid = args[0]
	layers, err := matrix.LayerName(grid)
	if err != nil {
		return "", fmt.Errorf("matrix: %w", err)
	}
	f.choice.Layers = f.engine
	if layers == "durability" {
		f.choice.Layers = f.modes
	}
	for _, flag := range []string{"engine", "durability"} {
		if f.given(flag) && flag != layers {
			return "", fmt.Errorf("matrix: %s has no --%s, but --%s", grid, flag, layers)
		}
	}
	if f.given("seed") {
		f.choice.Seed = &f.seed
	}
	f.choice.Quick = f.quick
	switch {
	case f.given(layers) && len(f.choice.Layers) == 0:
		err = fmt.Errorf("--%s names none", layers)
	case f.given("rounds") && (f.choice.Rounds < 1 || f.choice.Rounds > 100):
		err = fmt.Errorf("--rounds %d is not within 1 to 100", f.choice.Rounds)
	case f.given("cell") && (f.choice.Cell < 50*time.Millisecond || f.choice.Cell > 10*time.Minute):
		err = fmt.Errorf("--cell %v is not within 50ms to 10m", f.choice.Cell)
	case f.given("time") && (f.time < time.Second || f.time > 24*time.Hour):
		err = fmt.Errorf("--time %v is not within 1s to 24h", f.time)
	case f.given("json") && f.json == "":
		err = errors.New("--json needs the name of a file")
	case f.given("resume") && f.resume == "":
		err = errors.New("--resume needs the name of a file")
	case f.given("rows") && f.choice.Rows == "":
		err = errors.New("--rows names none")
	case f.given("columns") && f.choice.Columns == "":
		err = errors.New("--columns names none")
	}
	if err != nil {
		return "", fmt.Errorf("matrix: %w", err)
	}
	if f.json == "" {
		if f.json = f.resume; f.json == "" {
			f.json = "sluice-matrix-" + grid + ".json"
		}
	}
	if f.quick && f.time == 0 {
		f.time = quickMatrix
	}
	f.choice.Layers = slices.Clip(f.choice.Layers)
	return grid, nil
}

// quickMatrix is what --quick may take, with the start and the end of targets
// less than a minute.
const quickMatrix = 52 * time.Second
