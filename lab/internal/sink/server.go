package sink

import (
	"cmp"
	"context"
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
	Timeout   time.Duration // how long a client may take no answers, or stop within a record, before it is cut off; default 30 s
	Grace     time.Duration // how long the end may take; default 5 s
	OnError   func(error)   // is called for errors that do not end the server, on any goroutine; may be nil
}

func (s Settings) withDefaults() Settings {
	s.MaxRecord, s.InFlight = cmp.Or(s.MaxRecord, 4<<20), cmp.Or(s.InFlight, 1024)
	s.Timeout, s.Grace = cmp.Or(s.Timeout, 30*time.Second), cmp.Or(s.Grace, 5*time.Second)
	if s.OnError == nil {
		s.OnError = func(error) {}
	}
	if s.MaxRecord < 0 || s.MaxRecord > 1<<30 || s.InFlight < 0 || s.Timeout < 0 || s.Grace < 0 {
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

	running  sync.WaitGroup // connections
	mu       sync.Mutex
	open     map[*conn]struct{}
	accepted uint64

	refused, records, bytes atomic.Uint64
}

// NewServer returns a server. The store is borrowed: the caller closes it when Serve
// has returned.
func NewServer(store Store, o Settings) *Server {
	return &Server{store: store, settings: o.withDefaults(), open: map[*conn]struct{}{}}
}

// Counts returns what the server has done so far.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Counts{len(s.open), s.accepted, s.refused.Load(), s.records.Load(), s.bytes.Load()}
}

// Serve answers the connections of l, transferred, until ctx is done, and returns
// nil then: what had been received whole is appended and acknowledged, for at most
// Settings.Grace. Any other end, that of the store for one, is an error.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer stop()
		select {
		case <-ctx.Done():
		case <-s.store.Failed():
		}
	}()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	err := s.accept(ctx, l)
	l.Close()
	s.end()
	return cmp.Or(s.store.Err(), err)
}

func (s *Server) refuse(c *conn, err error) {
	s.refused.Add(1)
	s.settings.OnError(fmt.Errorf("%v: %w", c.RemoteAddr(), err))
}

func (s *Server) accept(ctx context.Context, l net.Listener) error {
	for {
		nc, err := l.Accept()
		if err == nil {
			c := newConn(s, nc)
			s.mu.Lock()
			s.open[c] = struct{}{}
			s.accepted++
			s.mu.Unlock()
			s.running.Go(func() {
				c.serve()
				s.mu.Lock()
				defer s.mu.Unlock()
				delete(s.open, c)
			})
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		if !temporary(err) {
			return err
		}
		s.settings.OnError(err)
		select {
		case <-time.After(100 * time.Millisecond): // descriptors have run out
		case <-ctx.Done():
		}
	}
}

func (s *Server) end() {
	s.each((*conn).finish)
	all := make(chan struct{})
	go func() {
		s.running.Wait()
		close(all)
	}()
	select {
	case <-all:
	case <-time.After(s.settings.Grace):
		s.settings.OnError(fmt.Errorf("clients that were not finished were cut off after %v", s.settings.Grace))
		s.each(func(c *conn) { c.drop(errCutOff) })
		<-all
	}
}

func (s *Server) each(f func(*conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		f(c)
	}
}
