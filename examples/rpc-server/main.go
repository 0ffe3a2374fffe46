// Command rpc-server answers calls: frames with a 4-byte length. It shows a state for
// each connection of the program's own type, frames that are cut from what has come,
// and answers that go out together. A client that does not read its answers is not read
// from either.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sluice-go/sluice/aio"
)

const usage = `rpc-server answers calls, frames with a 4-byte length in front, each with a frame.

usage: rpc-server [flags]

A call is one of
	login NAME    says who calls, in 64 bytes at most; answered with: welcome NAME
	echo TEXT     answered with: NAME N TEXT, where N counts the calls of the connection
An interrupt or SIGTERM ends the server; what was called is answered first.

flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "rpc-server:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("rpc-server", flag.ExitOnError)
	addr := flags.String("addr", "127.0.0.1:7004", "listen on this `address`; port 0 takes any that is free")
	watchers := flags.Int("watchers", 1, "so many event loops, which share the clients")
	idle := flags.Duration("idle", time.Minute, "disconnect a client that is silent for so long")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || *watchers < 1 || *idle < 0 {
		return fmt.Errorf("want no arguments but flags, at least 1 watcher and no time below 0, got %q", args)
	}
	listeners, err := aio.Listen(ctx, "tcp", *addr, 1)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "listening on", listeners[0].Addr())
	s := &aio.Server{Handler: newHandler(log.Default(), *idle), Watchers: *watchers}
	return s.Serve(ctx, listeners)
}

// caller is the state of a connection. One goroutine calls back for a connection, so it
// needs no lock.
type caller struct {
	frames  aio.Frames // keeps what is incomplete
	name    string
	calls   int
	answers []byte // of the calls that came together
}

const (
	maxCall = 64 << 10 // bytes; a client that calls with more is disconnected
	maxName = 64       // bytes; it is in the answer to each call, and many short calls come together
)

func newHandler(l *log.Logger, idle time.Duration) *aio.ConnHandler[caller] {
	return &aio.ConnHandler[caller]{
		IdleTimeout:  idle,
		WriteTimeout: idle,
		Open: func(c *aio.Conn[caller]) error {
			c.State.frames = aio.Frames{Size: aio.LengthPrefix(4), Limit: 4 + maxCall}
			return nil
		},
		Data: func(c *aio.Conn[caller], p []byte) error {
			s := &c.State
			err := s.frames.Add(p, func(frame []byte) error { return s.call(frame[4:]) })
			if _, writeErr := c.Write(s.answers); err == nil {
				err = writeErr
			}
			s.answers = nil
			return err
		},
		Closed: func(c *aio.Conn[caller], reason error) {
			c.State.frames.Release()
			if reason != io.EOF && !errors.Is(reason, aio.ErrWatcherClosed) {
				l.Printf("%v, %s: %v", c.RemoteAddr(), c.State.name, reason)
			}
		},
	}
}

var (
	errUnknownCall = errors.New("unknown call")
	errNameTooLong = errors.New("name too long")
)

// call answers one call, borrowed.
func (s *caller) call(p []byte) error {
	s.calls++
	verb, rest := string(p), ""
	for i, b := range p {
		if b == ' ' {
			verb, rest = string(p[:i]), string(p[i+1:])
			break
		}
	}
	var answer string
	switch verb {
	case "login":
		if len(rest) > maxName {
			return fmt.Errorf("%w: %d bytes", errNameTooLong, len(rest))
		}
		s.name = rest
		answer = "welcome " + rest
	case "echo":
		answer = fmt.Sprintf("%s %d %s", s.name, s.calls, rest)
	default:
		return fmt.Errorf("%w %.20q", errUnknownCall, verb)
	}
	s.answers = binary.BigEndian.AppendUint32(s.answers, uint32(len(answer)))
	s.answers = append(s.answers, answer...)
	return nil
}
