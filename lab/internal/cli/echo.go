package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/lab/internal/echo"
)

const echoText = `echo sends back what it receives, over TCP or, with the address unix:PATH, over a
Unix socket: a target for load tests. With port 0 it takes any that is free; the first
line says where it listens. With --stats a line follows now and then; a request is what
one read returned.

--engine aio runs one goroutine, however many connections there are; std a goroutine and
a buffer for each connection, as people write with the standard library.

An interrupt or SIGTERM ends it: what has been read is sent back first, for at
most 5 seconds.

Exit codes: 0 ended by a signal; 1 it cannot listen, or listening failed; 2
wrong command line.`

// echoListening is the first line for programs.
type echoListening struct {
	Event   string `json:"event"` // listening
	Address string `json:"address"`
	Engine  string `json:"engine"`
	How     string `json:"how"`
	Buffer  int    `json:"buffer"`          // bytes
	Pprof   string `json:"pprof,omitempty"` // URL
}

// echoStats are the others.
type echoStats struct {
	Event       string  `json:"event"`       // stats, or total for the last one
	Seconds     float64 `json:"seconds"`     // that it is about
	Connections int     `json:"connections"` // now
	Accepted    uint64  `json:"accepted"`    // since the beginning
	Requests    uint64  `json:"requests"`    // within the seconds
	Bytes       uint64  `json:"bytes"`       // within the seconds
}

func (a App) echo() *cobra.Command {
	var f serverFlags
	settings := echo.Settings{Grace: serverGrace}
	cmd := &cobra.Command{
		Use:     "echo address",
		Short:   "Send back what comes: a target for load tests",
		Long:    echoText,
		Example: "  lab echo --engine std --stats 1s 127.0.0.1:7000",
		RunE: func(_ *cobra.Command, args []string) error {
			network, addr, err := f.check(args)
			if err = errors.Join(err, settings.Check()); err != nil {
				return fmt.Errorf("echo: %w", err)
			}
			settings.OnError = func(err error) { fmt.Fprintf(a.Stderr, "lab: echo: %v\n", err) }
			return a.serve("echo", &f, func(ctx context.Context, stop func(), out lines, profiles string) error {
				return serveEcho(ctx, stop, network, addr, settings, f.stats, out, profiles)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&settings.Engine, "engine", "aio", "aio or std")
	flags.IntVar(&settings.Buffer, "buffer", 4096, "bytes that each connection reads at once, with std")
	f.define(flags)
	return cmd
}

func serveEcho(ctx context.Context, stop func(), network, addr string, settings echo.Settings, every time.Duration, out lines, profiles string) error {
	server, err := echo.Listen(ctx, network, addr, settings)
	if err != nil {
		return err
	}
	e := echoListening{
		Event: "listening", Address: addressText(server.Addr()), Engine: settings.Engine, How: server.About(),
		Buffer: settings.Buffer, Pprof: profiles,
	}
	text := fmt.Sprintf("listening on %s\n%s", e.Address, e.How)
	if profiles != "" {
		text += "\nprofiles on " + profiles
	}
	if err := out.say(e, text); err != nil {
		server.Close()
		return err
	}
	ended, began := make(chan error, 1), time.Now()
	go func() { ended <- server.Serve(ctx) }()
	last := echo.Counts{}
	err = out.follow(every, ended, stop, func(took time.Duration) (any, string) {
		c := server.Counts()
		e := echoStats{"stats", took.Seconds(), c.Open, c.Accepted, c.Requests - last.Requests, c.Bytes - last.Bytes}
		last = c
		return e, fmt.Sprintf("%d connections  %.0f requests/s  %.1f MB/s", e.Connections, float64(e.Requests)/e.Seconds, float64(e.Bytes)/1e6/e.Seconds)
	})
	c := server.Counts()
	total := echoStats{"total", time.Since(began).Seconds(), c.Open, c.Accepted, c.Requests, c.Bytes}
	return errors.Join(err, out.say(total, fmt.Sprintf("%d connections, %d requests, %.1f MB in %.1f s", total.Accepted, total.Requests, float64(total.Bytes)/1e6, total.Seconds)))
}
