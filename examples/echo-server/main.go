// Command echo-server sends back to every client what it receives. It shows the
// smallest complete server on package aio: one watcher and two goroutines for
// each listener, however many clients there are. What a client sends is read
// into counted memory and leaves from there; an idle client holds no buffer.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sluice-go/sluice/aio"
)

// echo is the handler. It needs no state: what a client sent travels in the
// operation itself.
type echo struct{}

func (echo) Accepted(w *aio.Watcher, conn net.Conn) { listenTo(w, conn) }

func (echo) Completed(w *aio.Watcher, r *aio.OpResult) {
	switch {
	case errors.Is(r.Error, aio.ErrWatcherClosed):
		// The server is shutting down: the watcher closes the connection itself
		// when its queued bytes are written.
	case r.Error != nil: // io.EOF among others
		w.Free(r.Conn)
	case r.Operation == aio.OpRead:
		// r.Buf is retained, and transferred to the write.
		if w.WriteBuf(nil, r.Conn, r.Buf, time.Now().Add(limit)) != nil {
			w.Free(r.Conn)
		}
	default:
		// The next read is submitted only when the answer is written: a client
		// that sends and does not read delays only itself.
		listenTo(w, r.Conn)
	}
}

// limit is how long a client may say nothing, or not read its answer.
const limit = 10 * time.Minute

// listenTo submits a read of as many bytes as come.
func listenTo(w *aio.Watcher, conn net.Conn) {
	if w.ReadBuf(nil, conn, 0, time.Now().Add(limit)) != nil {
		w.Free(conn)
	}
}

const usage = `echo-server sends back to every client what it receives.

usage: echo-server [flags]

An interrupt or SIGTERM ends it: what was received is sent back first.
Try it with: nc 127.0.0.1 7000

flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "echo-server:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("echo-server", flag.ExitOnError)
	addr := flags.String("addr", "127.0.0.1:7000", "listen on this `address`; port 0 takes any that is free")
	n := flags.Int("listeners", 1, "so many listeners on the address, each with a watcher of its own; more than 1 on Linux and FreeBSD")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || *n < 1 {
		return fmt.Errorf("want no arguments but flags and at least 1 listener, got %q", args)
	}

	listeners, err := aio.Listen(ctx, "tcp", *addr, *n)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "listening on", listeners[0].Addr())
	return aio.Serve(ctx, listeners, aio.Options{}, echo{})
}
