package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-go/sluice/lab/internal/calibrate"
	"github.com/sluice-go/sluice/lab/internal/load"
)

const loadText = `load puts load on a server and says what came of it: throughput, requests a
second, latency, and what generator and target used of the machine. Of several
targets, separated by commas, connections go to each in turn. A target is

  http://, https://    --method, --header, --body, --http2; statuses are counted
  ws://, wss://        a binary message for each request, any message as its reply
  redis://, rediss://  --command; redis://USER:PASSWORD@HOST/DATABASE logs in
  file:PATH            --pattern, --fsync, --direct: reads and writes of blocks
  tcp://, tcp+tls://   what --protocol says, or --request and --reply
  HOST:PORT, unix:PATH the same

--protocol says what the target answers: frame (a 4-byte big-endian length and so
many bytes, the same again), ack (the same request, 8 bytes back: lab sink), or
echo (the bytes as they are, without framing). lab echo is a target for frame
and echo.

A file that does not exist is made, and removed afterwards. One that exists is
written only with --overwrite.

With --rate it is an open loop: requests are due at their times whatever the
target does, and latency counts from the time at which a request was due. Without,
or with 0, it is a closed loop: a request is sent when there is room for it. A
closed loop hides stalls. --search looks for the highest rate within a limit.

It calibrates first, for two seconds: the error of the machine's timers, a round
trip over loopback, and what the generator can send at most. A run in which the
generator was the limit is INVALID: it says why, and shows no latency.

--pid reads what the target's process uses of the machine (Linux).

An interrupt ends it early: what there is until then is reported.

Exit codes: 0 done; 1 the target failed, or a file could not be written; 2 wrong
command line; 3 the run was invalid or interrupted.`

// A loadCommand is lab load with what it runs, which tests replace.
type loadCommand struct {
	App
	run       func(context.Context, load.Plan, func(load.Progress)) (*load.Result, error)
	calibrate func(context.Context, load.Plan, string) (*load.Calibration, error)
}

func (a App) load() *cobra.Command {
	return loadCommand{a, load.Run, calibrate.Run}.command()
}

// loadFlags are the flags as given.
type loadFlags struct {
	plan          load.Plan
	protocol      string
	size          string
	rate          string
	noCalibration bool
	json          string
	search        string
	target        targetFlags
	changed       func(flag string) bool // whether it was given
}

func (c loadCommand) command() *cobra.Command {
	f := &loadFlags{plan: load.Default()}
	compare := false
	cmd := &cobra.Command{
		Use:     "load target[,target...]",
		Short:   "Put load on a server and say what came of it",
		Long:    loadText,
		Example: "  lab load --conns 64 --rate 20000 --duration 30s http://127.0.0.1:8080/",
		RunE: func(cmd *cobra.Command, args []string) error {
			f.changed = cmd.Flags().Changed
			switch {
			case compare:
				return c.runPair(f, args)
			case f.search != "":
				return c.runSearch(f, args)
			}
			return c.runLoad(f, args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.shape(flags)
	flags.StringVar(&f.rate, "rate", "0", "requests or payload bytes a second over all connections: a `rate` such as 5000, 20MB/s, 10MiB/s or 80Mbit/s; 0 for a closed loop")
	flags.DurationVar(&f.plan.Duration, "duration", f.plan.Duration, "of what is measured")
	flags.DurationVar(&f.plan.Warmup, "warmup", f.plan.Warmup, "before what is measured")
	flags.DurationVar(&f.plan.Patience, "patience", f.plan.Patience, "without any answer, before the target is given up")
	flags.BoolVar(&f.plan.Verify, "verify", false, "compare what comes back with what was sent, byte by byte; costs the generator some CPU")
	flags.BoolVar(&f.plan.Redial, "redial", false, "make connections that end anew, to the next address; requests that were under way count as errors")
	flags.StringVar(&f.plan.AckFile, "acks", "", "with --protocol ack: write what was acknowledged to this `file`, for lab sink verify")
	flags.BoolVar(&f.noCalibration, "no-calibration", false, "begin at once")
	flags.BoolVar(&compare, "compare", false, "compare two addresses under the same load, in interleaved rounds, for a minute or --duration")
	flags.StringVar(&f.search, "search", "", "look for the highest rate at which a `limit` such as P99=5ms or P99.9=20ms holds, in steps of --duration")
	f.defineTarget(flags)
	flags.StringVar(&f.json, "json", "", "write everything as JSON to this `file`, - for standard output")
	return cmd
}

// shape defines the flags that say what a request and a connection are.
func (f *loadFlags) shape(flags *pflag.FlagSet) {
	flags.StringVar(&f.protocol, "protocol", string(f.plan.Protocol), "what the target answers: frame, ack or echo")
	flags.IntVar(&f.plan.Conns, "conns", f.plan.Conns, "connections")
	flags.StringVar(&f.size, "size", f.plan.Sizes.String(), "payload of a request in `bytes`: 128, 4KiB, or 64..1024 for a range")
	flags.IntVar(&f.plan.Depth, "iodepth", f.plan.Depth, "requests under way on a connection at most")
	flags.Uint64Var(&f.plan.Seed, "seed", f.plan.Seed, "of sizes and times that are drawn")
	flags.StringVar(&f.plan.Engine, "engine", "", "of the generator: epoll (Linux) or portable; the best there is by default")
	flags.IntVar(&f.plan.Threads, "threads", 0, "of engine epoll; 0 for one")
	flags.IntVar(&f.plan.PID, "pid", 0, "read what this process, the target, uses of the machine")
}

// check checks that the flags and the address go together, and completes the
// plan.
func (f *loadFlags) check(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("load: want one address, such as http://127.0.0.1:8080/ or 127.0.0.1:7000, or several with commas between, got %q", args)
	}
	f.plan.Target = args[0]
	if err := f.checkTarget(); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	if err := f.checkShape(); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	var err error
	if f.plan.Rate, f.plan.RateBytes, err = parseRate(f.rate); err != nil {
		return fmt.Errorf("load: --rate: %w", err)
	}
	if err := f.plan.Check(); err != nil {
		return err
	}
	return f.checkFiles()
}
