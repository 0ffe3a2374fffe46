package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	_ "net/http/pprof" // registers with http.DefaultServeMux
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
)

// serverFlags are those that echo and sink share.
type serverFlags struct {
	stats       time.Duration
	json, pprof string
}

// serverGrace is how long a server's connections may take to end.
const serverGrace = 5 * time.Second

func (f *serverFlags) define(flags *pflag.FlagSet) {
	flags.DurationVar(&f.stats, "stats", 0, "print a line this often, such as 1s; 0 for never")
	flags.StringVar(&f.pprof, "pprof", "", "serve Go's profiles on this `address` of the loopback interface, such as 127.0.0.1:0")
	flags.StringVar(&f.json, "json", "", "write each line as JSON to this `file`, - for standard output instead of the lines")
}

// check checks the flags, and the address that is the only argument.
func (f *serverFlags) check(args []string) (network, addr string, err error) {
	if len(args) != 1 {
		return "", "", fmt.Errorf("want one address, such as 127.0.0.1:7000, got %q", args)
	}
	network, addr = "tcp", args[0]
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		if network, addr = "unix", path; path == "" {
			return "", "", errors.New("unix: needs the path of a socket")
		}
	} else if _, _, err := net.SplitHostPort(addr); err != nil {
		return "", "", err
	}
	if f.stats != 0 && (f.stats < time.Millisecond || f.stats > time.Hour) {
		return "", "", fmt.Errorf("--stats %v is not within 1ms to 1h", f.stats)
	}
	if f.pprof != "" {
		host, _, err := net.SplitHostPort(f.pprof)
		if err != nil {
			return "", "", fmt.Errorf("--pprof: %w", err)
		}
		if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
			return "", "", fmt.Errorf("--pprof: %q is not on the loopback interface: profiles are for this machine only, such as 127.0.0.1:0", f.pprof)
		}
	}
	return network, addr, nil
}

// lines says what a server does, to people in lines, to programs in JSON, one object a line.
// Either may be nil.
type lines struct{ people, programs io.Writer }

func (o lines) say(event any, text string) error {
	if o.people != nil {
		if _, err := fmt.Fprintln(o.people, text); err != nil {
			return err
		}
	}
	if o.programs != nil {
		return json.NewEncoder(o.programs).Encode(event)
	}
	return nil
}

// serve calls run with what every server has: a context that a signal ends, lines, and the
// address of profiles, which is empty without --pprof. An error of run is a failure.
func (a App) serve(name string, f *serverFlags, run func(ctx context.Context, stop func(), out lines, profiles string) error) (err error) {
	out := lines{people: a.Stdout}
	switch f.json {
	case "":
	case "-":
		out = lines{programs: a.Stdout}
	default:
		file, err := os.Create(f.json)
		if err != nil {
			return fmt.Errorf("%s: --json: %w", name, err)
		}
		defer file.Close()
		out.programs = file
	}
	// A broken pipe is no reason to end: sockets of clients that are gone break
	// too, and with a channel of our own for it the runtime would report those.
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	profiles := ""
	if f.pprof != "" {
		l, err := net.Listen("tcp", f.pprof)
		if err != nil {
			return fail(fmt.Errorf("%s: --pprof: %w", name, err))
		}
		// A profile takes as long as it is asked to.
		server := http.Server{ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second}
		defer server.Close()
		go server.Serve(l)
		profiles = "http://" + l.Addr().String() + "/debug/pprof"
	}
	if err := run(ctx, stop, out, profiles); err != nil {
		return fail(fmt.Errorf("%s: %w", name, err))
	}
	return nil
}

// follow prints what stats returns, so often as the flag says, until the server has ended,
// and returns why it did. When nothing can be printed any more it stops the server.
func (o lines) follow(every time.Duration, ended <-chan error, stop func(), stats func(took time.Duration) (event any, text string)) error {
	var tick <-chan time.Time
	if every > 0 {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		tick = ticker.C
	}
	then := time.Now()
	for {
		select {
		case err := <-ended:
			return err
		case now := <-tick:
			event, text := stats(now.Sub(then))
			if err := o.say(event, now.Format(time.TimeOnly)+"  "+text); err != nil {
				stop()
				return errors.Join(err, <-ended)
			}
			then = now
		}
	}
}

// addressText is an address as the argument has it.
func addressText(at net.Addr) string {
	if at.Network() == "unix" {
		return "unix:" + at.String()
	}
	return at.String()
}
