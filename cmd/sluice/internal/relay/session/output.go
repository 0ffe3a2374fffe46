package session

import (
	"net"
	"sync"
	"time"

	"github.com/sluice-go/sluice/live"
)

// An Output sends the answers of a connection: to the socket or, once the live.Writer owns
// it, between the messages that it sends. Its methods may be called by any goroutine.
type Output struct {
	within time.Duration // how long a write may take

	mu     sync.Mutex
	conn   net.Conn
	viewer *live.Viewer
}

// NewOutput returns an output to conn, of which each write may take so long.
func NewOutput(conn net.Conn, within time.Duration) *Output {
	return &Output{conn: conn, within: within}
}

// Write takes whole messages, borrowed until it returns.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.viewer != nil {
		if err := o.viewer.Control(p); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	if err := o.conn.SetWriteDeadline(time.Now().Add(o.within)); err != nil {
		return 0, err
	}
	return o.conn.Write(p)
}

// Over makes conn the connection.
func (o *Output) Over(conn net.Conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.conn = conn
}

// HandOver turns the connection into a viewer by calling add. It blocks Write
// meanwhile.
func (o *Output) HandOver(add func() (*live.Viewer, error)) (*live.Viewer, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	// This fails on a closed connection; the viewer will notice that.
	_ = o.conn.SetWriteDeadline(time.Time{})
	v, err := add()
	if err == nil {
		o.viewer = v
	}
	return v, err
}
