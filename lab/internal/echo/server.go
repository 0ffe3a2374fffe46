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

// Server is an echo server that listens.
type Server struct {
	settings Settings
	listener net.Listener
}

// Listen returns a server on an address of package net, which Serve then serves.
func Listen(ctx context.Context, network, addr string, s Settings) (*Server, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if s.OnError == nil {
		s.OnError = func(error) {}
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &Server{s, l}, nil
}

// Addr is the address that the server listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// About says in a few words how the server works.
func (s *Server) About() string {
	if s.settings.Engine == "std" {
		return fmt.Sprintf("std, a goroutine and a buffer of %d KiB for each connection", stdBuffer>>10)
	}
	return "aio, one goroutine for all connections"
}

// Serve serves until ctx is done and returns nil then, when what had been read
// is sent back or the grace is over. Any other end is an error.
func (s *Server) Serve(ctx context.Context) error {
	if s.settings.Engine == "std" {
		return s.serveStd(ctx)
	}
	server := aio.Server{
		Grace: s.settings.Grace, OnError: s.settings.OnError,
		Handler: &aio.ConnHandler[struct{}]{Data: func(c *aio.Conn[struct{}], p []byte) error { _, err := c.Write(p); return err }},
	}
	return server.Serve(ctx, []net.Listener{s.listener})
}

// Close closes a server that is not to be served.
func (s *Server) Close() error { return s.listener.Close() }

func (s *Server) serveStd(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	context.AfterFunc(ctx, func() { s.listener.Close() })
	for {
		c, err := s.listener.Accept()
		switch {
		case err == nil:
			running.Go(func() { s.echo(ctx, c) })
		case ctx.Err() != nil:
			return nil
		default:
			return err
		}
	}
}

// echo writes what each read brought. How that ends is the client's affair.
func (s *Server) echo(ctx context.Context, c net.Conn) {
	defer c.Close()
	defer context.AfterFunc(ctx, func() {
		c.SetReadDeadline(time.Unix(1, 0))
		c.SetWriteDeadline(time.Now().Add(s.settings.Grace))
	})()
	buf := make([]byte, stdBuffer)
	for {
		n, err := c.Read(buf)
		if n > 0 {
			_, writeErr := c.Write(buf[:n])
			if errors.Is(writeErr, os.ErrDeadlineExceeded) {
				s.settings.OnError(fmt.Errorf("%v was cut off after %v", c.RemoteAddr(), s.settings.Grace))
			}
			err = errors.Join(err, writeErr)
		}
		if err != nil {
			return
		}
	}
}
