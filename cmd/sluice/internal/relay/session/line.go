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

// Sent returns how many bytes a connection's peer has acknowledged, and whether there are more
// for it, sent or not; known is false where the system does not say so, and for one that is closed.
func Sent(conn net.Conn) (acked int64, more, known bool) { return sentOn(conn) }

// MediaLine is the connection by which a publisher's media comes.
type MediaLine struct {
	conn  net.Conn
	probe func()
	whole atomic.Int64
}

// Whole says how many of the connection's bytes were whole frames, and what came before
// them, when the newest frame was.
func (l *MediaLine) Whole(bytes int64) { l.whole.Store(bytes) }
