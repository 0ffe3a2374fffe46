package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/lab/internal/echo"
)

const echoText = `echo sends back what it receives, over TCP or, with the address unix:PATH, over a
Unix socket: a target for load tests. With port 0 it takes any that is free; the first
line says where it listens.

--engine aio runs one goroutine, however many connections there are; std a goroutine and
a buffer for each connection, as people write with the standard library.

An interrupt or SIGTERM ends it: what has been read is sent back first, for at
most 5 seconds.

Exit codes: 0 ended by a signal; 1 it cannot listen, or listening failed; 2
wrong command line.`

func (a App) echo() *cobra.Command {
	var f serverFlags
	settings := echo.Settings{Grace: serverGrace}
	cmd := &cobra.Command{
		Use:     "echo address",
		Short:   "Send back what comes: a target for load tests",
		Long:    echoText,
		Example: "  lab echo --engine std 127.0.0.1:7000",
		RunE: func(_ *cobra.Command, args []string) error {
			network, addr, err := f.check(args)
			if err = errors.Join(err, settings.Check()); err != nil {
				return fmt.Errorf("echo: %w", err)
			}
			settings.OnError = func(err error) { fmt.Fprintf(a.Stderr, "lab: echo: %v\n", err) }
			return a.serve("echo", &f, func(ctx context.Context, _ func(), profiles string) error {
				server, err := echo.Listen(ctx, network, addr, settings)
				if err != nil {
					return err
				}
				if _, err := io.WriteString(a.Stdout, listening(server.Addr())+server.About()+"\n"+profiles); err != nil {
					server.Close()
					return err
				}
				return server.Serve(ctx)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&settings.Engine, "engine", "aio", "aio or std")
	f.define(flags)
	return cmd
}
