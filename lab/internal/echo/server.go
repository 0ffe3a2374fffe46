package echo

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/lab/internal/serving"
)

// Settings say what a server is made of.
type Settings struct {
	Engine string // aio or std
	Buffer int    // bytes that a connection of std reads at once
	// Grace is how long what has been received may be sent back after the end.
	Grace time.Duration
	// OnError hears of what does not end the server. It may be nil.
	OnError func(error)
}

// Check says what is wrong with the settings.
func (s Settings) Check() error {
	const most = 64 << 20
	switch {
	case s.Engine != "aio" && s.Engine != "std":
		return fmt.Errorf("there is no engine %q, there are aio and std", s.Engine)
	case s.Buffer < 1 || s.Buffer > most:
		return fmt.Errorf("a buffer of %d bytes is not within 1 and %d", s.Buffer, most)
	}
	return nil
}

// Counts are what a server has done since it began.
type Counts struct {
	Open     int    // connections that there are
	Accepted uint64 // connections that there have been, the open ones too
	Requests uint64 // reads that were sent back; a long message takes several
	Bytes    uint64 // that were sent back
}

// Server is an echo server that listens.
type Server struct {
	settings Settings
	listener net.Listener
	std      *serving.Server // of the engine std

	requests, bytes atomic.Uint64 // of it

	mu       sync.Mutex
	watchers []*aio.Watcher // of the engine aio, which count anyway
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
	e := &Server{settings: s, listener: l}
	if s.Engine == "std" {
		e.std = &serving.Server{Grace: s.Grace, OnError: s.OnError, New: func(c net.Conn) serving.Conn { return &conn{c, e} }}
	}
	return e, nil
}

// Addr is the address that the server listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// About says in a few words how the server works.
func (s *Server) About() string {
	if s.std != nil {
		return fmt.Sprintf("std, a goroutine and a buffer of %d bytes for each connection", s.settings.Buffer)
	}
	return "aio, one goroutine for all connections"
}

// Counts returns what the server has done so far.
func (s *Server) Counts() (c Counts) {
	if s.std != nil {
		c.Open, c.Accepted = s.std.Counts()
		c.Requests, c.Bytes = s.requests.Load(), s.bytes.Load()
		return c
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watchers {
		all := w.Stats()
		c.Open += all.Conns
		c.Accepted += all.Delegated
		c.Requests += all.Writes
		c.Bytes += all.BytesWritten
	}
	return c
}

// Serve serves until ctx is done and returns nil then, when what had been read
// is sent back or the grace is over. Any other end is an error.
func (s *Server) Serve(ctx context.Context) error {
	if s.std != nil {
		return s.std.Serve(ctx, s.listener)
	}
	server := aio.Server{
		Grace: s.settings.Grace, OnError: s.settings.OnError,
		Handler: &aio.ConnHandler[struct{}]{Data: func(c *aio.Conn[struct{}], p []byte) error { _, err := c.Write(p); return err }},
		Started: func(w *aio.Watcher, _ net.Listener) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.watchers = append(s.watchers, w)
			return nil
		},
	}
	return server.Serve(ctx, []net.Listener{s.listener})
}

// Close closes a server that is not to be served.
func (s *Server) Close() error { return s.listener.Close() }

// A conn is a connection of std: what people write with the standard library.
type conn struct {
	net.Conn
	server *Server
}

// Serve writes what each read brought. How that ends is the client's affair.
func (c *conn) Serve() {
	defer c.Close()
	buf := make([]byte, c.server.settings.Buffer)
	for {
		n, err := c.Read(buf)
		if n > 0 {
			written, err := c.Write(buf[:n])
			c.server.requests.Add(1)
			c.server.bytes.Add(uint64(written))
			if err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (c *conn) Finish() { c.SetReadDeadline(time.Unix(1, 0)) }
func (c *conn) Drop()   { c.Close() }
