package session

import (
	"net"
	"sync/atomic"
)

// A Line is what the kernel knows of a session's TCP connection.
type Line struct {
	Known    bool
	Received int64 // bytes
	Reorders int64 // packets that came out of order: others were lost on the way
	Unacked  bool  // the peer has not acknowledged all that was sent to it
	Parts    bool  // Partial is known
	Partial  int64 // bytes since the newest whole frame, and a constant or what TLS adds
}

// MediaLine is the connection by which a publisher's media comes.
type MediaLine struct {
	conn  net.Conn
	probe func()
	whole atomic.Int64
}

// OnLine says by which connection a publisher's media comes, for Line, and how to make
// it answer something; probe may be nil, and must not wait long. conn is borrowed until
// End.
func (s *Client) OnLine(conn net.Conn, probe func()) *MediaLine {
	l := &MediaLine{conn: conn, probe: probe}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line = l
	return l
}

// Whole says how many of the connection's bytes were whole frames, and what came before
// them, when the newest frame was.
func (l *MediaLine) Whole(bytes int64) { l.whole.Store(bytes) }

// Line returns what the kernel knows of the connection that OnLine has named. It makes
// a system call.
func (s *Client) Line() Line {
	s.mu.Lock()
	on, over := s.line, s.over
	s.mu.Unlock()
	if on == nil || over {
		return Line{}
	}
	l := lineOf(on.conn)
	if whole := on.whole.Load(); whole > 0 {
		l.Partial, l.Parts = l.Received-whole, true
	}
	return l
}

// Probe makes the peer send something back, where that can be.
func (s *Client) Probe() {
	s.mu.Lock()
	on, over := s.line, s.over
	s.mu.Unlock()
	if on != nil && on.probe != nil && !over {
		on.probe()
	}
}

// Of returns the active sessions of a stream, in no order.
func (c *Register) Of(stream string) []*Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []*Client
	for _, s := range c.byID {
		if s.Stream == stream {
			list = append(list, s)
		}
	}
	return list
}
