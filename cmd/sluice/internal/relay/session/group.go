package session

import (
	"context"
	"maps"
	"net"
	"slices"
	"sync"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/waiting"
)

// Group counts what must end before the server has ended: goroutines that serve a
// connection, which it can close, and the remaining work for ended sessions.
type Group struct {
	on waiting.Count

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
}

// Run calls f with conn in a goroutine of its own. The connection, transferred,
// is closed when f returns, or earlier by CloseAll.
func (s *Group) Run(conn net.Conn, f func(net.Conn)) {
	if !s.Begin(conn) {
		conn.Close()
		return
	}
	go s.run(conn, func(conn net.Conn) func(over func()) {
		f(conn)
		return nil
	})
}

// runOn is like Run, but when f returns a function, that has the connection: it is
// called on another goroutine, whose stack is as small as at its beginning (a stack
// that f has grown would stay large), and over is called when the connection has been
// served, by next or later. It reports false after CloseAll.
func (s *Group) runOn(conn net.Conn, f func(net.Conn) (next func(over func()))) bool {
	if !s.Begin(conn) {
		conn.Close()
		return false
	}
	go s.run(conn, f)
	return true
}

func (s *Group) run(conn net.Conn, f func(net.Conn) (next func(over func()))) {
	over := func() {
		conn.Close()
		s.End(conn)
	}
	var next func(over func())
	defer func() {
		if next == nil {
			over()
		}
	}()
	if next = f(conn); next != nil {
		go next(over)
	}
}

// Begin adds a connection that the caller's goroutine serves. The caller must
// call End. It reports false after CloseAll.
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
	s.on.Add(1)
	return true
}

// End removes a connection, because it was closed or handed on.
func (s *Group) End(conn net.Conn) {
	s.mu.Lock()
	delete(s.conns, conn)
	s.mu.Unlock()
	s.Release()
}

// Hold counts something that ends by itself, or with its connection. The caller must call
// Release.
func (s *Group) Hold() { s.on.Add(1) }

// Release ends what Hold began.
func (s *Group) Release() { s.on.Add(-1) }

// Wait waits until the count is 0 or ctx is done.
func (s *Group) Wait(ctx context.Context) error { return s.on.Wait(ctx) }

// Unread returns how many bytes the connections' peers have sent that were not
// read, where the system says so, or 0 when the kernel holds fewer than least for all TCP
// connections of the machine. Otherwise it makes a system call for each connection.
func (s *Group) Unread(least int64) (bytes int64) {
	if all, known := tcpMemory(); known && all < least {
		return 0
	}
	s.mu.Lock()
	conns := slices.Collect(maps.Keys(s.conns))
	s.mu.Unlock()
	for _, conn := range conns {
		bytes += int64(listen.Unread(listen.Bare(conn)))
	}
	return bytes
}

// CloseAll closes the remaining connections, and later ones as they come.
func (s *Group) CloseAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for conn := range s.conns {
		conn.Close()
	}
}
