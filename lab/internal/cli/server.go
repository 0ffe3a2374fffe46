package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	_ "net/http/pprof" // registers with http.DefaultServeMux
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-go/sluice/lab/internal/echo"
)

type serverFlags struct{ pprof string }

// serverGrace is how long a server's connections may take to end.
const serverGrace = 5 * time.Second

func (f *serverFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&f.pprof, "pprof", "", "serve Go's profiles on this `address` of the loopback interface, such as 127.0.0.1:0")
}

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

// serve calls run with a context that a signal ends, and serves the profiles. An error of run
// is a failure. What run prints begins with listening.
func (a App) serve(name string, f *serverFlags, run func(ctx context.Context, stop func(), profiles string) error) error {
	// A broken pipe is no reason to end: sockets of clients that are gone break
	// too, and with a channel of our own for it the runtime would report those.
	ctx, stop := signalled()
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
		profiles = "profiles on http://" + l.Addr().String() + "/debug/pprof\n"
	}
	if err := run(ctx, stop, profiles); err != nil {
		return fail(fmt.Errorf("%s: %w", name, err))
	}
	return nil
}

func listening(at net.Addr) string {
	return "listening on " + map[string]string{"unix": "unix:"}[at.Network()] + at.String() + "\n"
}

func (a App) echo() *cobra.Command {
	var f serverFlags
	settings := echo.Settings{Grace: serverGrace}
	cmd := command("echo", func(args []string) error {
		network, addr, err := f.check(args)
		if err = errors.Join(err, settings.Check()); err != nil {
			return err
		}
		settings.OnError = func(err error) { fmt.Fprintf(a.Stderr, "lab: echo: %v\n", err) }
		return a.serve("echo", &f, func(ctx context.Context, _ func(), profiles string) error {
			l, err := new(net.ListenConfig).Listen(ctx, network, addr)
			if err != nil {
				return err
			}
			if _, err := io.WriteString(a.Stdout, listening(l.Addr())+settings.About()+"\n"+profiles); err != nil {
				return errors.Join(err, l.Close())
			}
			return echo.Serve(ctx, l, settings)
		})
	})
	flags := cmd.Flags()
	flags.StringVar(&settings.Engine, "engine", "aio", "aio or std")
	f.define(flags)
	return cmd
}
