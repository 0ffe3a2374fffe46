package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/load/wire"
	"github.com/sluice-go/sluice/lab/internal/proc"
)

func (c loadCommand) command() *cobra.Command {
	f := &loadFlags{plan: load.Default()}
	p := &f.plan
	cmd := command("load", func(args []string) error { return c.execute(f, args) })
	flags := cmd.Flags()
	f.changed = flags.Changed
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
	flags.IntVar(&p.PID, "pid", 0, "read what this process, the target, and its children use of the machine")
	flags.DurationVar(&p.Timeout, "timeout", p.Timeout, "without any answer, before the target is given up")
	flags.BoolVar(&p.Verify, "verify", false, "compare what comes back with what was sent, byte by byte; costs the generator some CPU")
	flags.BoolVar(&p.Redial, "redial", false, "replace connections that end, by the next address; requests that were under way are lost, and up to 5 % may be")
	flags.StringVar(&p.AckFile, "acks", "", "with --protocol ack: write what was acknowledged to this `file`, for lab sink verify")
	flags.StringVar(&p.Engine, "engine", "", "of the generator: epoll (Linux) or portable; the best there is by default")
	flags.IntVar(&p.Threads, "threads", 0, "of engine epoll; 0 for one")
	flags.Uint64Var(&p.Seed, "seed", p.Seed, "of sizes and times that are drawn")
	flags.BoolVar(&f.noCalibration, "no-calibration", false, "begin at once")
	flags.StringVar(&f.json, "json", "", "write everything as JSON to this `file`, - for standard output")
	return cmd
}

const (
	// fileBlock is the size of a request to a file unless --size says otherwise.
	fileBlock = "4KiB"
	// mostBody bounds a body and a request of one's own, in bytes.
	mostBody = 64 << 20
)

type loadFlags struct {
	plan          load.Plan
	size          string
	noCalibration bool
	compare       bool
	search, json  string
	requests      requestFlags
	changed       func(flag string) bool // whether it was given
}

type requestFlags struct {
	http           wire.HTTP
	redis          wire.Redis
	file           wire.File
	body           string
	request, reply string
}

func (r *requestFlags) define(flags *pflag.FlagSet, p *load.Plan) {
	flags.StringVar(&r.http.Method, "method", "", "HTTP: the `method`; GET by default, POST with a body")
	flags.StringArrayVar(&r.http.Headers, "header", nil, "HTTP, WebSocket: a `header`, \"Name: value\"; may be given several times")
	flags.StringVar(&r.body, "body", "", "HTTP: the `file` with the body of requests")
	flags.BoolVar(&r.http.Two, "http2", false, "HTTP/2: h2 over https, by prior knowledge over http; --iodepth requests at once on a connection")
	flags.StringArrayVar(&r.redis.Commands, "command", nil, "Redis: a `command` split at spaces alone, with {rand} for a number and {data} for a payload; several are sent one after the other; PING by default")
	flags.IntVar(&r.redis.Keys, "keys", 0, "Redis: how many numbers {rand} is drawn from; 100000 by default")
	flags.StringVar(&r.request, "request", "", "TCP: a `file` with the bytes of a request, which is sent instead of --protocol's; needs --reply")
	flags.StringVar(&r.reply, "reply", "", "how replies to --request end: `fixed:N`, delimiter:TEXT, length:N or length:Nle (N bytes of length before the rest)")
	flags.BoolVar(&p.Requests.Insecure, "insecure", false, "TLS: take any certificate")
	flags.StringVar(&p.Requests.CA, "ca", "", "TLS: a `file` of certificates to trust instead of the system's")
	flags.StringVar(&r.file.Pattern, "pattern", "", "file: read, write, randread or randwrite; read by default")
	flags.Var((*byteSize)(&r.file.Size), "file-size", "file: how many bytes of it are used, and have to be made if it does not exist; 256MiB by default")
	flags.IntVar(&r.file.Sync, "fsync", 0, "file: fsync after so many writes")
	flags.BoolVar(&r.file.Direct, "direct", false, "file: past the page cache (O_DIRECT)")
	flags.BoolVar(&r.file.Overwrite, "overwrite", false, "file: allow writes to a file that exists; what is in it is lost")
}

func (f *loadFlags) check(args []string) (err error) {
	p := &f.plan
	if len(args) != 1 {
		return fmt.Errorf("want one address, such as http://127.0.0.1:8080/ or 127.0.0.1:7000, or several with commas between, got %q", args)
	}
	switch {
	case f.compare && f.search != "":
		return errors.New("--compare and --search exclude each other")
	case (f.compare || f.search != "") && p.AckFile != "":
		return errors.New("--acks is of one run, and not of the many of --compare and --search")
	}
	p.Target = args[0]
	if err := f.requests.complete(&p.Requests, f.changed); err != nil {
		return err
	}
	if wire.Scheme(p.Target) == "file" && !f.changed("size") {
		f.size = fileBlock
	}
	if p.Sizes, err = load.ParseSizes(f.size); err != nil {
		return fmt.Errorf("--size: %w", err)
	}
	switch err := cmp.Or(p.Check(), f.checkTarget()); {
	case err != nil:
		return err
	case f.changed("size") && !p.HasSizes():
		return fmt.Errorf("--size is not that of requests to %s: they are what --body, --command or --request says", p.Public().Target)
	case p.AckFile == "-":
		return errors.New("--acks needs the name of a file")
	case p.AckFile != "" && f.json != "" && filepath.Clean(f.json) == filepath.Clean(p.AckFile):
		return errors.New("--json and --acks name the same file")
	}
	// Before the run, not after it.
	return cmp.Or(writable("acks", p.AckFile), writable("json", f.json))
}

func (f *loadFlags) checkTarget() error {
	p := &f.plan
	if f.changed("protocol") && p.Speaks() != string(p.Protocol) {
		return fmt.Errorf("--protocol is not for %s, which speaks %s", p.Public().Target, p.Speaks())
	}
	if f.changed("pid") && p.PID < 1 {
		return fmt.Errorf("invalid --pid %d", p.PID)
	}
	if p.PID > 0 {
		if _, err := proc.Read(p.PID); err != nil {
			return fmt.Errorf("--pid %d: %w", p.PID, err)
		}
	}
	return nil
}

func (r *requestFlags) complete(to *wire.Options, changed func(string) bool) (err error) {
	given := func(names ...string) bool { return slices.ContainsFunc(names, changed) }
	if given("method", "header", "body", "http2") {
		to.HTTP = &r.http
		if r.body != "" {
			if to.HTTP.Body, err = readLimited(r.body); err != nil {
				return fmt.Errorf("--body: %w", err)
			}
			if !given("method") {
				to.HTTP.Method = "POST"
			}
		}
	}
	if given("command", "keys") {
		if to.Redis = &r.redis; changed("keys") && r.redis.Keys < 1 {
			return fmt.Errorf("--keys %d is not at least 1", r.redis.Keys)
		}
	}
	if given("request", "reply") {
		if !changed("request") || !changed("reply") {
			return errors.New("--request and --reply go together")
		}
		to.Own = &wire.Own{Reply: r.reply}
		if to.Own.Request, err = readLimited(r.request); err != nil {
			return fmt.Errorf("--request: %w", err)
		}
	}
	if given("pattern", "file-size", "fsync", "direct", "overwrite") {
		if to.File = &r.file; changed("file-size") && r.file.Size < 1 {
			return fmt.Errorf("--file-size %d is not at least 1", r.file.Size)
		}
	}
	return nil
}

// readLimited reads a file, also a pipe or a device, whose size says nothing.
func readLimited(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := io.ReadAll(io.LimitReader(f, mostBody+1))
	if len(p) > mostBody {
		return nil, fmt.Errorf("%s has more than %d bytes", path, mostBody)
	}
	return p, err
}

var searchQuantiles = map[string]float64{"P50": 0.5, "P90": 0.9, "P99": 0.99, "P99.9": 0.999}

func parseLimit(text string) (load.Limit, error) {
	name, value, _ := strings.Cut(text, "=")
	q, known := searchQuantiles[strings.ToUpper(strings.TrimSpace(name))]
	d, err := time.ParseDuration(strings.TrimSpace(value))
	if !known || err != nil || d <= 0 {
		return load.Limit{}, fmt.Errorf("--search: %.40q is not a limit such as P99=5ms, of P50, P90, P99 or P99.9", text)
	}
	return load.Limit{Quantile: q, Latency: d}, nil
}
