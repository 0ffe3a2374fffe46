package echo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/sluice-go/sluice/aio"
)

// Settings say what a server is made of.
type Settings struct {
	Engine string // one of Engines
	// Buffer is the bytes that are read at once. 0 is, with aio, for reads
	// without a buffer of the connection's, and with bufreader for reads that
	// follow the stream.
	Buffer int
	// WriteBuffer is how many bytes are gathered before a write while more bytes
	// wait to be read; they are written when none wait. 0 writes what each read
	// brought. aio has none. Where the system does not report waiting bytes
	// (Windows), everything is written at once.
	WriteBuffer int
	Listeners   int // on the one address, at least 1
	// Grace is how long what has been received may be sent back after the end.
	Grace time.Duration
	// OnError hears of what does not end the server. It may be nil.
	OnError func(error)
}

// Engines are the ways to serve.
var Engines = []string{"aio", "std", "bufreader"}

// Check says what is wrong with the settings.
func (s Settings) Check() error {
	const most = 64 << 20
	switch {
	case !slices.Contains(Engines, s.Engine):
		return fmt.Errorf("there is no engine %q, there are aio, std and bufreader", s.Engine)
	case s.Buffer < 0 || s.Buffer > most:
		return fmt.Errorf("a buffer of %d bytes is not within 0 and %d", s.Buffer, most)
	case s.Buffer == 0 && s.Engine == "std":
		return errors.New("the engine std reads into a buffer: only aio and bufreader do without one of a fixed size")
	case s.Buffer > 0 && s.Buffer < leastBufLen && s.Engine == "bufreader":
		return fmt.Errorf("a buffer of %d bytes: the engine bufreader reads at least %d at once", s.Buffer, leastBufLen)
	case s.WriteBuffer < 0 || s.WriteBuffer > most:
		return fmt.Errorf("a write buffer of %d bytes is not within 0 and %d", s.WriteBuffer, most)
	case s.WriteBuffer > 0 && s.Engine == "aio":
		return errors.New("the engine aio has no write buffer: it writes what each read brought")
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
	case "bufreader":
		e = newBufReaderEngine(s)
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
