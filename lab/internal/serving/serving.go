// Package serving accepts connections, has a goroutine serve each, and ends them within a
// time.
package serving

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// A Conn is a connection that a Server has accepted.
type Conn interface {
	Serve()  // until its end; it closes the connection
	Finish() // read nothing more; what has been read is still answered
	Drop()   // end at once
}

// A Server serves connections in a goroutine each. It runs once.
type Server struct {
	New     func(net.Conn) Conn
	Grace   time.Duration // how long the end may take
	OnError func(error)   // is called for errors that do not end the server, on any goroutine

	running  sync.WaitGroup
	mu       sync.Mutex
	conns    map[Conn]struct{}
	accepted uint64
}

// Counts returns how many connections there are, and how many there have been, the open
// ones too.
func (s *Server) Counts() (open int, accepted uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns), s.accepted
}

// Serve serves the connections of listeners, transferred, until ctx is done, and returns
// nil when all have ended; any other end is an error.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s.mu.Lock()
	s.conns = map[Conn]struct{}{}
	s.mu.Unlock()
	var accepting sync.WaitGroup
	errs := make([]error, len(listeners))
	for i, l := range listeners {
		accepting.Go(func() {
			errs[i] = s.accept(ctx, l)
			stop()
		})
	}
	<-ctx.Done()
	for _, l := range listeners {
		l.Close()
	}
	accepting.Wait()
	s.end()
	return errors.Join(errs...)
}

// accept serves the connections of l until ctx is done.
func (s *Server) accept(ctx context.Context, l net.Listener) error {
	for {
		nc, err := l.Accept()
		if err == nil {
			c := s.New(nc)
			s.mu.Lock()
			s.conns[c] = struct{}{}
			s.accepted++
			s.mu.Unlock()
			s.running.Go(func() {
				c.Serve()
				s.mu.Lock()
				defer s.mu.Unlock()
				delete(s.conns, c)
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
		s.OnError(err)
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
	s.each(Conn.Finish)
	all := make(chan struct{})
	go func() {
		s.running.Wait()
		close(all)
	}()
	grace := time.NewTimer(s.Grace)
	defer grace.Stop()
	select {
	case <-all:
	case <-grace.C:
		s.OnError(fmt.Errorf("clients that were not finished were cut off after %v", s.Grace))
		s.each(Conn.Drop)
		<-all
	}
}

func (s *Server) each(f func(Conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		f(c)
	}
}
