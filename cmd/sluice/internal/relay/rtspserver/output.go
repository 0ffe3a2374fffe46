package rtspserver

import (
	"net"
	"sync"
	"time"

	"github.com/sluice-go/sluice/live"
)

// output sends the responses of a connection: to the socket or, once the live.Writer
// owns it, between the packets that it sends.
type output struct {
	conn   net.Conn
	within time.Duration // how long a write may take

	mu     sync.Mutex
	viewer *live.Viewer
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
	if err := o.conn.SetWriteDeadline(time.Now().Add(o.within)); err != nil {
		return 0, err
	}
	return o.conn.Write(p)
}

// handOver turns the connection into a viewer by calling add. It blocks Write
// meanwhile.
func (o *output) handOver(add func() (*live.Viewer, error)) (*live.Viewer, error) {
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
