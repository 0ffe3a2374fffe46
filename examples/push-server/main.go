// Command push-server sends a line to every connected client, every second. It
// shows how one piece of memory goes out to many connections without a copy, and
// what happens to a client that does not keep up.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/sluice-go/sluice/aio"
)

const usage = `push-server sends a line to every connected client, every second.

usage: push-server [flags]

A client for which more than -queue bytes wait is disconnected: it does not read.
An interrupt or SIGTERM ends the server.
Try it with: nc 127.0.0.1 7001

flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "push-server:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("push-server", flag.ExitOnError)
	addr := flags.String("addr", "127.0.0.1:7001", "listen on this `address`; port 0 takes any that is free")
	n := flags.Int("listeners", 1, "so many listeners on the address, each with a watcher of its own; more than 1 on Linux and FreeBSD")
	every := flags.Duration("every", time.Second, "send a line this often")
	queue := flags.Int("queue", 64<<10, "disconnect a client for which more than so many `bytes` wait")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || *n < 1 || *every <= 0 || *queue < 1 {
		return fmt.Errorf("want no arguments but flags, and each number above 0, got %q", args)
	}

	// In place of l, err := net.Listen("tcp", *addr): n listeners by SO_REUSEPORT.
	listeners, err := aio.Listen(ctx, "tcp", *addr, *n)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "listening on", listeners[0].Addr())

	h := newHub(log.New(os.Stderr, "", log.LstdFlags))
	ctx, stop := context.WithCancel(ctx)
	var ticking sync.WaitGroup
	ticking.Go(func() { h.tick(ctx, *every) })
	err = aio.Serve(ctx, listeners, aio.Options{QueueLimit: *queue, QueuePolicy: aio.QueueClose}, h)
	stop()
	ticking.Wait()
	return err
}

// tick pushes the time until ctx is done.
func (h *hub) tick(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			h.push(counted(fmt.Sprintf("%s, %d here\n", now.Format("15:04:05.000"), h.size())))
		case <-ctx.Done():
			return
		}
	}
}
