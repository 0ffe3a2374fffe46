package transport

import (
	"bytes"
	"context"
	"net"
	"sync/atomic"
	"time"
)

// connectTimeout bounds how long a connection to an outside NATS may take to begin.
const connectTimeout = 5 * time.Second

// dialer makes the connections to an outside NATS, by name too, and closes the one that there is when
// done ends: the client holds its lock while it connects, so that its Close waits.
type dialer struct{ done context.Context }

// Dial is that of nats.CustomDialer.
func (d dialer) Dial(network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: connectTimeout}).DialContext(d.done, network, address)
	if err != nil {
		return nil, err
	}
	return &dialed{Conn: c, stop: context.AfterFunc(d.done, func() { c.Close() })}, nil
}

// A dialed connection has a guard, except over TLS, of whose server the client sees a certificate, and WebSocket.
type dialed struct {
	net.Conn
	stop  func() bool
	guard guard       // of the goroutine that reads
	wrote atomic.Bool // the first bytes, which show what is spoken
	other atomic.Bool // it is not the plain protocol
}

// Write looks at what the client says first.
func (d *dialed) Write(p []byte) (int, error) {
	if len(p) > 0 && !d.wrote.Swap(true) && !bytes.HasPrefix(p, []byte("CONNECT ")) {
		d.other.Store(true)
	}
	return d.Conn.Write(p)
}

// Read returns what the guard has passed.
func (d *dialed) Read(p []byte) (int, error) {
	n, err := d.Conn.Read(p)
	if n > 0 && !d.other.Load() {
		if err := d.guard.pass(p[:n]); err != nil {
			return 0, err
		}
	}
	return n, err
}

// Close takes the connection from those that the dialer closes.
func (d *dialed) Close() error {
	d.stop()
	return d.Conn.Close()
}
