package sink

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// connections are those of a server, each served by a goroutine.
type connections struct {
	running  sync.WaitGroup
	mu       sync.Mutex
	open     map[*conn]struct{}
	accepted uint64
}

// serve serves the connections of l, transferred, until ctx is done, and returns nil when
// all have ended; any other end is an error.
func (s *Server) serve(ctx context.Context, l net.Listener) error {
	defer s.end()
	defer l.Close()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	return s.accept(ctx, l)
}

// accept serves the connections of l until ctx is done.
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
		s.running.Wait()
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
	for c := range s.open {
		f(c)
	}
}
