package transport

import (
	"context"
	"net"
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
	return &dialed{c, context.AfterFunc(d.done, func() { c.Close() })}, nil
}

type dialed struct {
	net.Conn
	stop func() bool
}

// Close takes the connection from those that the dialer closes.
func (d *dialed) Close() error {
	d.stop()
	return d.Conn.Close()
}
