package cli

import (
	"github.com/spf13/cobra"

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

It measures the error of the machine's timers first. A run in which the generator was
the limit is INVALID: it says why, and shows no latency.

Passwords in addresses and commands, and values of headers that may be secret, are
hidden in all that it prints and writes; of --body and --request it writes a checksum.

--pid reads what the target's process uses of the machine (Linux).

An interrupt ends it early: what there is until then is reported.

Exit codes: 0 done; 1 the target failed, or a file could not be written; 2 wrong
command line; 3 the run was invalid or interrupted.`

func (a App) load() *cobra.Command {
	return loadCommand{a, load.Run, load.Calibrate}.command()
}

func (c loadCommand) command() *cobra.Command {
	f := &loadFlags{plan: load.Default()}
	p := &f.plan
	cmd := &cobra.Command{
		Use:     "load target[,target...]",
		Short:   "Put load on a server and say what came of it",
		Long:    loadText,
		Example: "  lab load --conns 64 --rate 20000 --duration 30s http://127.0.0.1:8080/",
		RunE: func(cmd *cobra.Command, args []string) error {
			f.changed = cmd.Flags().Changed
			return c.execute(f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar((*string)(&p.Protocol), "protocol", string(p.Protocol), "what the target answers: frame, ack or echo")
	flags.IntVar(&p.Conns, "conns", p.Conns, "connections")
	flags.StringVar(&f.size, "size", p.Sizes.String(), "payload of a request in `bytes`: 128, 4KiB, or 64..1024 for a range")
	flags.IntVar(&p.Depth, "iodepth", p.Depth, "requests under way on a connection at most")
	flags.Float64Var(&p.Rate, "rate", 0, "requests a second over all connections; 0 for a closed loop")
	flags.DurationVar(&p.Duration, "duration", p.Duration, "of what is measured")
	flags.DurationVar(&p.Warmup, "warmup", p.Warmup, "before what is measured")
	flags.BoolVar(&f.compare, "compare", false, "compare two addresses under the same load, in interleaved rounds, for a minute or --duration")
	flags.StringVar(&f.search, "search", "", "look for the highest rate at which a `limit` such as P99=5ms or P99.9=20ms holds, in steps of --duration")
	f.requests.define(flags, p)
	flags.IntVar(&p.PID, "pid", 0, "read what this process, the target, uses of the machine")
	flags.DurationVar(&p.Timeout, "timeout", p.Timeout, "without any answer, before the target is given up")
	flags.BoolVar(&p.Verify, "verify", false, "compare what comes back with what was sent, byte by byte; costs the generator some CPU")
	flags.BoolVar(&p.Redial, "redial", false, "make connections that end anew, to the next address; requests that were under way are lost, and up to 5 % may be")
	flags.StringVar(&p.AckFile, "acks", "", "with --protocol ack: write what was acknowledged to this `file`, for lab sink verify")
	flags.StringVar(&p.Engine, "engine", "", "of the generator: epoll (Linux) or portable; the best there is by default")
	flags.IntVar(&p.Threads, "threads", 0, "of engine epoll; 0 for one")
	flags.Uint64Var(&p.Seed, "seed", p.Seed, "of sizes and times that are drawn")
	flags.BoolVar(&f.noCalibration, "no-calibration", false, "begin at once")
	flags.StringVar(&f.json, "json", "", "write everything as JSON to this `file`, - for standard output")
	return cmd
}
