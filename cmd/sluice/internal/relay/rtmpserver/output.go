package rtmpserver

import (
	"net"
	"sync"
	"time"

	"github.com/sluice-go/sluice/live"
)

// output sends the messages of an RTMP connection: to the socket, or, once the
// live.Writer owns the socket, between the messages that it sends. Each Write has
// whole messages.
type output struct {
	conn   net.Conn
	within time.Duration // how long a write may take

	mu       sync.Mutex
	deadline time.Time // overrides within when it is set
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

// until sets one deadline for all later writes; the zero time removes it.
func (o *output) until(deadline time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.deadline = deadline
}

// handOver turns the connection into a viewer by calling add. It blocks Write
// meanwhile.
func (o *output) handOver(add func() (*live.Viewer, error)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	// This fails on a closed connection; the viewer will notice that.
	_ = o.conn.SetWriteDeadline(time.Time{})
	if v, err := add(); err == nil {
		o.viewer = v
	}
}
