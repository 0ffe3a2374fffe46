package cli

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/sluice-go/sluice/lab/internal/load/wire"
)

// targetFlags are the flags that say what requests to some kinds of target are.
type targetFlags struct {
	http    wire.HTTP
	body    string
	redis   wire.Redis
	request string
	reply   string
	file    wire.File
}

// mostBody bounds a body and a request of one's own, in bytes.
const mostBody = 64 << 20

func (f *loadFlags) defineTarget(flags *pflag.FlagSet) {
	t := &f.target
	flags.StringVar(&t.http.Method, "method", "", "HTTP: the `method`; GET by default, POST with a body")
	flags.StringArrayVar(&t.http.Headers, "header", nil, "HTTP, WebSocket: a `header`, \"Name: value\"; may be given several times")
	flags.StringVar(&t.body, "body", "", "HTTP: the `file` with the body of requests")
	flags.BoolVar(&t.http.Two, "http2", false, "HTTP/2: h2 over https, by prior knowledge over http; --iodepth requests at once on a connection")
	flags.StringArrayVar(&t.redis.Commands, "command", nil, "Redis: a `command`, with {rand} for a number and {data} for a payload; several are sent one after the other; PING by default")
	flags.IntVar(&t.redis.Keys, "keys", 0, "Redis: how many numbers {rand} is drawn from; 100000 by default")
	flags.StringVar(&t.request, "request", "", "TCP: a `file` with the bytes of a request, which is sent instead of --protocol's; needs --reply")
	flags.StringVar(&t.reply, "reply", "", "how replies to --request end: `fixed:N`, delimiter:TEXT, length:N or length:Nle (N bytes of length before the rest)")
	flags.BoolVar(&f.plan.Requests.Insecure, "insecure", false, "TLS: take any certificate")
	flags.StringVar(&f.plan.Requests.CA, "ca", "", "TLS: a `file` of certificates to trust instead of the system's")
	flags.StringVar(&t.file.Pattern, "pattern", "", "file: read, write, randread or randwrite; read by default")
	flags.Var((*byteSize)(&t.file.Size), "file-size", "file: how many bytes of it are used, and have to be made if it does not exist; 256MiB by default")
	flags.IntVar(&t.file.Sync, "fsync", 0, "file: fsync after so many writes")
	flags.BoolVar(&t.file.Direct, "direct", false, "file: past the page cache (O_DIRECT)")
	flags.BoolVar(&t.file.Overwrite, "overwrite", false, "file: allow writes to a file that exists; what is in it is lost")
}

// fileBlock is the size of a request to a file unless --size says otherwise.
const fileBlock = "4KiB"

// checkTarget completes the plan's requests with what was given for them.
func (f *loadFlags) checkTarget() error {
	t, r := &f.target, &f.plan.Requests
	given := func(names ...string) bool {
		for _, name := range names {
			if f.changed(name) {
				return true
			}
		}
		return false
	}
	var err error
	if given("method", "header", "body", "http2") {
		r.HTTP = &t.http
		if t.body != "" {
			if r.HTTP.Body, err = readLimited(t.body); err != nil {
				return fmt.Errorf("--body: %w", err)
			}
			if !f.changed("method") {
				r.HTTP.Method = "POST"
			}
		}
	}
	if given("command", "keys") {
		if t.redis.Keys < 0 {
			return fmt.Errorf("invalid --keys %d", t.redis.Keys)
		}
		r.Redis = &t.redis
	}
	if given("request", "reply") {
		r.Own = &wire.Own{Reply: t.reply}
		if r.Own.Request, err = readLimited(t.request); err != nil {
			return fmt.Errorf("--request: %w", err)
		}
	}
	if given("pattern", "file-size", "fsync", "direct", "overwrite") {
		r.File = &t.file
	}
	if wire.Scheme(f.plan.Target) == "file" && !f.changed("size") {
		f.size = fileBlock
	}
	return nil
}

// readLimited reads a file of at most mostBody bytes.
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
