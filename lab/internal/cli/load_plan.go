package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/load/wire"
	"github.com/sluice-go/sluice/lab/internal/proc"
)

const (
	// fileBlock is the size of a request to a file unless --size says otherwise.
	fileBlock = "4KiB"
	// mostBody bounds a body and a request of one's own, in bytes.
	mostBody = 64 << 20
)

// check checks that the flags and the address go together, and completes the
// plan.
func (f *loadFlags) check(args []string) (err error) {
	defer func() {
		if err != nil && !errors.Is(err, load.ErrPlan) {
			err = fmt.Errorf("load: %w", err)
		}
	}()
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
	if p.PID < 0 {
		return fmt.Errorf("invalid --pid %d", p.PID)
	}
	if p.PID > 0 {
		if _, err := proc.Read(p.PID); err != nil {
			return fmt.Errorf("--pid %d: %w", p.PID, err)
		}
	}
	switch err := p.Check(); {
	case err != nil:
		return err
	case f.changed("size") && !p.HasSizes():
		return fmt.Errorf("--size is not that of requests to %s: they are what --body, --command or --request says", p.Target)
	case p.AckFile == "-":
		return errors.New("--acks needs the name of a file")
	case p.AckFile != "" && f.json != "" && filepath.Clean(f.json) == filepath.Clean(p.AckFile):
		return errors.New("--json and --acks name the same file")
	}
	// Before the run, not after it.
	if err := writable("acks", p.AckFile); err != nil {
		return err
	}
	return writable("json", f.json)
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
		if to.Redis = &r.redis; r.redis.Keys < 0 {
			return fmt.Errorf("invalid --keys %d", r.redis.Keys)
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
		to.File = &r.file
	}
	return nil
}

func readLimited(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > mostBody {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", path, info.Size(), mostBody)
	}
	return os.ReadFile(path)
}

var searchQuantiles = map[string]float64{"P50": 0.5, "P90": 0.9, "P99": 0.99, "P99.9": 0.999}

// parseLimit reads "P99=5ms".
func parseLimit(text string) (load.Limit, error) {
	name, value, _ := strings.Cut(text, "=")
	q, known := searchQuantiles[strings.ToUpper(strings.TrimSpace(name))]
	d, err := time.ParseDuration(strings.TrimSpace(value))
	if !known || err != nil || d <= 0 {
		return load.Limit{}, fmt.Errorf("load: --search: %.40q is not a limit such as P99=5ms, of P50, P90, P99 or P99.9", text)
	}
	return load.Limit{Quantile: q, Latency: d}, nil
}
