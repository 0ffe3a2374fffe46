package sink

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Settings say how a server treats its connections. The zero value of a field is
// its default.
type Settings struct {
	MaxRecord int           // bytes of the longest record; default 4 MiB, at most 1 GiB
	InFlight  int           // records of a connection that wait for their answer; default 1024
	Patience  time.Duration // how long a client may take no answers, or stop within a record, before it is cut off; default 30 s
	Grace     time.Duration // how long the end may take; default 5 s
	OnError   func(error)   // is called for errors that do not end the server, on any goroutine; may be nil
}

func (s Settings) withDefaults() Settings {
	if s.MaxRecord == 0 {
		s.MaxRecord = 4 << 20
	}
	if s.InFlight == 0 {
		s.InFlight = 1024
	}
	if s.Patience == 0 {
		s.Patience = 30 * time.Second
	}
	if s.Grace == 0 {
		s.Grace = 5 * time.Second
	}
	if s.OnError == nil {
		s.OnError = func(error) {}
	}
	if s.MaxRecord < 0 || s.MaxRecord > 1<<30 || s.InFlight < 0 || s.Patience < 0 || s.Grace < 0 {
		panic(fmt.Sprintf("sink: bad settings: %+v", s))
	}
	return s
}

// Counts are what a server has done since it began.
type Counts struct {
	Open     int    `json:"connections"` // that there are
	Accepted uint64 `json:"accepted"`    // connections that there have been, the open ones too
	Refused  uint64 `json:"refused"`     // connections that were closed for what they or the store did
	Records  uint64 `json:"records"`     // acknowledged: the answer was handed to the system
	Bytes    uint64 `json:"bytes"`       // payload of those
}

// Server keeps what its connections send in a store, and answers them. It runs
// once.
type Server struct {
	store    Store
	settings Settings
	serving  sync.WaitGroup

	accepted, refused, records, bytes atomic.Uint64

	mu    sync.Mutex
	conns map[*conn]struct{}
	fatal chan error // has room for the first error of the store that stays
}

// NewServer returns a server. The store is borrowed: the caller closes it when Serve
// has returned.
func NewServer(store Store, s Settings) *Server {
	return &Server{store: store, settings: s.withDefaults(), conns: map[*conn]struct{}{}, fatal: make(chan error, 1)}
}

// Counts returns what the server has done so far.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	open := len(s.conns)
	s.mu.Unlock()
	return Counts{open, s.accepted.Load(), s.refused.Load(), s.records.Load(), s.bytes.Load()}
}

// Serve answers the connections of listeners, transferred, until ctx is done, and returns
// nil then: what had been received whole is appended and acknowledged, for at most
// Settings.Grace. Any other end, that of the store for one, is an error.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var failing <-chan struct{}
	failed := func() error { return nil }
	if f, ok := s.store.(interface {
		Failed() <-chan struct{}
		Err() error
	}); ok {
		failing, failed = f.Failed(), f.Err
	}
	var accepting sync.WaitGroup
	broken := make(chan error, len(listeners))
	for _, l := range listeners {
		accepting.Go(func() {
			if err := s.accept(ctx, l); err != nil {
				broken <- err
				stop(err)
			}
		})
	}
	var err error
	select {
	case <-ctx.Done():
	case <-failing:
		err = failed()
	case err = <-s.fatal:
	}
	stop(err)
	for _, l := range listeners {
		l.Close()
	}
	accepting.Wait()
	s.end()
	if err == nil {
		select {
		case err = <-broken:
		case err = <-s.fatal:
		default:
			err = failed()
		}
	}
	return err
}

// accept serves the connections of l until ctx is done.
func (s *Server) accept(ctx context.Context, l net.Listener) error {
	for {
		nc, err := l.Accept()
		if err == nil {
			c := newConn(s, nc)
			s.mu.Lock()
			s.conns[c] = struct{}{}
			s.mu.Unlock()
			s.accepted.Add(1)
			s.serving.Go(func() {
				defer func() {
					s.mu.Lock()
					delete(s.conns, c)
					s.mu.Unlock()
				}()
				c.serve()
			})
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		var t interface{ Temporary() bool }
		if !errors.As(err, &t) || !t.Temporary() {
			return err
		}
		s.settings.OnError(err)
		pause := time.NewTimer(100 * time.Millisecond) // descriptors have run out
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

// end lets each connection finish what it has received, for as long as the grace.
func (s *Server) end() {
	s.each((*conn).finish)
	all := make(chan struct{})
	go func() {
		s.serving.Wait()
		close(all)
	}()
	grace := time.NewTimer(s.settings.Grace)
	defer grace.Stop()
	select {
	case <-all:
	case <-grace.C:
		s.settings.OnError(fmt.Errorf("clients that were not finished were cut off after %v", s.settings.Grace))
		s.each(func(c *conn) { c.drop(errCutOff) })
		<-all
	}
}

func (s *Server) each(f func(*conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		f(c)
	}
}

// refuse says why a connection is closed that its client has not ended.
func (s *Server) refuse(c *conn, err error) {
	s.refused.Add(1)
	s.settings.OnError(fmt.Errorf("%v: %w", c.RemoteAddr(), err))
	if errors.Is(err, ErrFailed) {
		select {
		case s.fatal <- err:
		default:
		}
	}
}
