package echo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/sluice-go/sluice/aio"
)

// Settings say what a server is made of.
type Settings struct {
	Engine string // aio or std
	// Grace is how long what has been received may be sent back after the end.
	Grace time.Duration
	// OnError hears of what does not end the server. It may be nil.
	OnError func(error)
}

// Check says what is wrong with the settings.
func (s Settings) Check() error {
	if s.Engine != "aio" && s.Engine != "std" {
		return fmt.Errorf("there is no engine %q, there are aio and std", s.Engine)
	}
	return nil
}

const stdBuffer = 64 << 10

// About says in a few words how the server works.
func (s Settings) About() string {
	if s.Engine == "std" {
		return fmt.Sprintf("std, a goroutine and a buffer of %d KiB for each connection", stdBuffer>>10)
	}
	return "aio, one goroutine for all connections"
}

// Serve serves what l, transferred, accepts until ctx is done and returns nil then, when what had been
// read is sent back or the grace is over. Any other end is an error. The settings have passed Check.
func Serve(ctx context.Context, l net.Listener, s Settings) error {
	if s.OnError == nil {
		s.OnError = func(error) {}
	}
	if s.Engine == "std" {
		return s.serveStd(ctx, l)
	}
	server := aio.Server{
		Grace: s.Grace, OnError: s.OnError,
		Handler: &aio.ConnHandler[struct{}]{Data: func(c *aio.Conn[struct{}], p []byte) error { _, err := c.Write(p); return err }},
	}
	return server.Serve(ctx, []net.Listener{l})
}

func (s Settings) serveStd(ctx context.Context, l net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	context.AfterFunc(ctx, func() { l.Close() })
	for {
		c, err := l.Accept()
		var passing interface{ Temporary() bool }
		switch {
		case err == nil:
			running.Go(func() { s.echo(ctx, c) })
		case ctx.Err() != nil:
			return nil
		case !errors.As(err, &passing) || !passing.Temporary():
			return err
		default: // descriptors have run out: those who are here go on
			s.OnError(err)
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}
}

// echo writes what each read brought. How that ends is the client's affair.
func (s Settings) echo(ctx context.Context, c net.Conn) {
	defer c.Close()
	defer context.AfterFunc(ctx, func() {
		c.SetReadDeadline(time.Unix(1, 0))
		c.SetWriteDeadline(time.Now().Add(s.Grace))
	})()
	buf := make([]byte, stdBuffer)
	for {
		n, err := c.Read(buf)
		if n > 0 {
			_, writeErr := c.Write(buf[:n])
			if errors.Is(writeErr, os.ErrDeadlineExceeded) {
				s.OnError(fmt.Errorf("%v was cut off after %v", c.RemoteAddr(), s.Grace))
			}
			err = errors.Join(err, writeErr)
		}
		if err != nil {
			return
		}
	}
}
