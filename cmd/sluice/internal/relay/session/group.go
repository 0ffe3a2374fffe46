package session

import (
	"context"
	"net"
	"sync"
)

// Group counts what has to end before the server has: the goroutines that
// talk to somebody, whose connections it can close, and what is still to be
// done about those who have gone.
type Group struct {
	mu     sync.Mutex
	on     int
	conns  map[net.Conn]struct{}
	closed bool
	none   chan struct{} // closed when there are none; nil when nobody waits for that
}

// Run calls f with conn in a goroutine of its own. The connection, transferred,
// is closed when f returns, and before that when the server's time is over.
func (s *Group) Run(conn net.Conn, f func(net.Conn)) {
	if !s.Begin(conn) {
		conn.Close()
		return
	}
	go func() {
		defer s.End(conn)
		defer conn.Close()
		f(conn)
	}()
}

// Begin takes a connection up that the caller's goroutine talks to; end
// follows. It reports false when the server's time is over.
func (s *Group) Begin(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if s.conns == nil {
		s.conns = map[net.Conn]struct{}{}
	}
	s.conns[conn] = struct{}{}
	s.on++
	return true
}

// End says that a connection is not the session's any more: it was closed, or
// handed on.
func (s *Group) End(conn net.Conn) {
	s.mu.Lock()
	delete(s.conns, conn)
	s.mu.Unlock()
	s.release()
}

// hold counts something that ends by itself; release follows.
func (s *Group) hold() {
	s.mu.Lock()
	s.on++
	s.mu.Unlock()
}

func (s *Group) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.on--; s.on == 0 && s.none != nil {
		close(s.none)
		s.none = nil
	}
}

// Wait waits until there are none, or ctx is done.
func (s *Group) Wait(ctx context.Context) error {
	s.mu.Lock()
	if s.on == 0 {
		s.mu.Unlock()
		return nil
	}
	if s.none == nil {
		s.none = make(chan struct{})
	}
	none := s.none
	s.mu.Unlock()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// CloseAll closes the connections that are left, and those that come.
func (s *Group) CloseAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for conn := range s.conns {
		conn.Close()
	}
}
