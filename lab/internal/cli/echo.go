package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/lab/internal/echo"
)

const echoText = `echo sends back what it receives, over TCP or, with the address unix:PATH, over a
Unix socket: a target for load tests. With port 0 it takes any that is free.

The first line on standard output says where it listens; the second, how. With
--stats a line follows now and then: connections at that moment, requests and
bytes sent back since the last line. A request is what one read returned: a long
message comes as several.

--engine aio runs a watcher for each listener, on one goroutine however many
connections there are; with --buffer 0 it reads without buffers. --engine std is
what people write with the standard library: a goroutine and a buffer for each
connection. --engine bufreader has a goroutine for each connection too, reads
with this library's reader and sends what came from where it lies, without a
copy; with --buffer 0 its reads follow the stream.

With --write-buffer, which std and bufreader have, what was read is gathered
until so many bytes are there or nothing more waits to be read.

An interrupt or SIGTERM ends it: what has been read is sent back first, for at
most 5 seconds.

Exit codes: 0 ended by a signal; 1 it cannot listen, or listening failed; 2
wrong command line.`

// echoGrace is how long echo may take to end.
const echoGrace = 5 * time.Second

// echoFlags are the flags as given.
type echoFlags struct {
	settings echo.Settings
	stats    time.Duration
	json     string
	pprof    string
}

func (a App) echo() *cobra.Command {
	f := echoFlags{settings: echo.Settings{Grace: echoGrace}}
	cmd := &cobra.Command{
		Use:     "echo address",
		Short:   "Send back what comes: a target for load tests",
		Long:    echoText,
		Example: "  lab echo --engine std --stats 1s 127.0.0.1:7000",
		RunE: func(_ *cobra.Command, args []string) error {
			return a.runEcho(f, args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.settings.Engine, "engine", "aio", "aio, std or bufreader")
	flags.IntVar(&f.settings.Buffer, "buffer", 4096, "bytes that each connection reads at once; 0, with aio and bufreader, for no fixed size")
	flags.IntVar(&f.settings.WriteBuffer, "write-buffer", 0, "bytes gathered before a write, with std and bufreader; 0 writes what each read brought")
	flags.IntVar(&f.settings.Listeners, "listeners", 1, "so many listeners share the address (SO_REUSEPORT)")
	flags.DurationVar(&f.stats, "stats", 0, "print a line this often, such as 1s; 0 for never")
	flags.StringVar(&f.pprof, "pprof", "", "serve Go's profiles on this `address` of the loopback interface, such as 127.0.0.1:0")
	flags.StringVar(&f.json, "json", "", "write each line as JSON to this `file`, - for standard output instead of the lines")
	return cmd
}

// check checks that the flags and arguments go together.
func (f *echoFlags) check(args []string) (network, addr string, err error) {
	if len(args) != 1 {
		return "", "", fmt.Errorf("echo: want one address, such as 127.0.0.1:7000, got %q", args)
	}
	network, addr = "tcp", args[0]
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		network, addr = "unix", path
	} else if _, _, err := net.SplitHostPort(addr); err != nil {
		return "", "", fmt.Errorf("echo: %w", err)
	}
	switch err := f.settings.Check(); {
	case err != nil:
		return "", "", fmt.Errorf("echo: %w", err)
	case addr == "":
		return "", "", errors.New("echo: unix: needs the path of a socket")
	case f.stats != 0 && (f.stats < time.Millisecond || f.stats > time.Hour):
		return "", "", fmt.Errorf("echo: --stats %v is not within 1ms to 1h", f.stats)
	}
	if f.pprof != "" {
		if err := loopbackOnly(f.pprof); err != nil {
			return "", "", fmt.Errorf("echo: --pprof: %w", err)
		}
	}
	return network, addr, nil
}

func (a App) runEcho(f echoFlags, args []string) (err error) {
	network, addr, err := f.check(args)
	if err != nil {
		return err
	}
	out := echoLines{people: a.Stdout}
	switch f.json {
	case "":
	case "-":
		out = echoLines{programs: a.Stdout}
	default:
		file, err := os.Create(f.json)
		if err != nil {
			return fmt.Errorf("echo: --json: %w", err)
		}
		defer func() {
			if closeErr := file.Close(); err == nil && closeErr != nil {
				err = fail(closeErr)
			}
		}()
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
	f.settings.OnError = func(err error) { fmt.Fprintf(a.Stderr, "lab: echo: %v\n", err) }
	server, err := echo.Listen(ctx, network, addr, f.settings)
	if err != nil {
		return fail(fmt.Errorf("echo: %w", err))
	}
	var pprof *profiles
	if f.pprof != "" {
		if pprof, err = listenProfiles(f.pprof); err != nil {
			server.Close()
			return fail(fmt.Errorf("echo: --pprof: %w", err))
		}
		defer pprof.close()
		go pprof.serve()
	}
	if err := out.listening(server, f.settings, pprof.url()); err != nil {
		server.Close()
		return fail(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	err = out.follow(server, f.stats, ended, stop)
	if err != nil {
		return fail(fmt.Errorf("echo: %w", err))
	}
	return nil
}
