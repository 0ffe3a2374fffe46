package rtmpserver

import (
	"net"
	"sync"
	"time"

	"github.com/sluice-go/sluice/live"
)

// output is where an RTMP connection's messages go: to the socket, and once
// the writer of streams has that, between the messages that it sends. Each
// Write is of whole messages.
type output struct {
	conn   net.Conn
	within time.Duration // how long a write may take

	mu       sync.Mutex
	deadline time.Time // when it is set it holds instead of within
	viewer   *live.Viewer
}

// Write takes whole messages, borrowed until it returns.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.viewer != nil {
		if err := o.viewer.Control(p); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	deadline := o.deadline
	if deadline.IsZero() {
		deadline = time.Now().Add(o.within)
	}
	if err := o.conn.SetWriteDeadline(deadline); err != nil {
		return 0, err
	}
	return o.conn.Write(p)
}

// until gives all that is written from now on one deadline; the zero time ends
// that.
func (o *output) until(deadline time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.deadline = deadline
}

// handOver makes a viewer of the connection by calling add. Until it is one,
// nothing can be written.
func (o *output) handOver(add func() (*live.Viewer, error)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	// A connection that is closed has no deadlines; the viewer finds out.
	_ = o.conn.SetWriteDeadline(time.Time{})
	if v, err := add(); err == nil {
		o.viewer = v
	}
}

// watching returns the viewer, or nil while the connection is none.
func (o *output) watching() *live.Viewer {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.viewer
}
