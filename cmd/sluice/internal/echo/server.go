package echo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/sluice-go/sluice/aio"
)

// Settings say what a server is made of.
type Settings struct {
	Engine    string // "aio" or "std"
	Buffer    int    // bytes for each connection; 0, with aio only, for reads without a buffer
	Listeners int    // on the one address, at least 1
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
	case s.Buffer < 0 || s.Buffer > most:
		return fmt.Errorf("a buffer of %d bytes is not within 0 and %d", s.Buffer, most)
	case s.Buffer == 0 && s.Engine != "aio":
		return fmt.Errorf("the engine %s reads into a buffer: only aio reads without one", s.Engine)
	case s.Listeners < 1 || s.Listeners > 1024:
		return fmt.Errorf("%d listeners are not within 1 and 1024", s.Listeners)
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

// engine is a way to serve.
type engine interface {
	// serve takes the listeners over. It returns nil when ctx is done and
	// everything has ended, and the reason when it cannot go on.
	serve(ctx context.Context, listeners []net.Listener) error
	counts() Counts
	about() string
}

// Server is an echo server that listens.
type Server struct {
	listeners []net.Listener
	engine    engine
}

// Listen returns a server on an address of package net, which Serve then serves.
// The settings have passed Check.
func Listen(ctx context.Context, network, addr string, s Settings) (*Server, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if s.OnError == nil {
		s.OnError = func(error) {}
	}
	var e engine
	switch s.Engine {
	case "std":
		e = newStdEngine(s)
	default:
		var err error
		if e, err = newAIOEngine(s); err != nil {
			return nil, err
		}
	}
	listeners, err := aio.Listen(ctx, network, addr, s.Listeners)
	if err != nil {
		return nil, err
	}
	return &Server{listeners, e}, nil
}

// Addr is the address that the server listens on.
func (s *Server) Addr() net.Addr { return s.listeners[0].Addr() }

// About says in a few words how the server works.
func (s *Server) About() string { return s.engine.about() }

// Counts returns what the server has done so far.
func (s *Server) Counts() Counts { return s.engine.counts() }

// Serve serves until ctx is done and returns nil then, when what had been read
// is sent back or the grace is over. Any other end is an error.
func (s *Server) Serve(ctx context.Context) error {
	return s.engine.serve(ctx, s.listeners)
}

// Close closes a server that is not to be served.
func (s *Server) Close() error {
	var errs []error
	for _, l := range s.listeners {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}
