package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/dialtls"
)

// connectTimeout bounds how long a connection to an outside NATS may take to begin.
const connectTimeout = 5 * time.Second

// dialer makes the connections to an outside NATS, by name too, and closes the one that there is when
// done ends: the client holds its lock while it connects, so that its Close waits. It makes them one after the other.
type dialer struct {
	done   context.Context
	urls   string      // of the servers
	tls    *tls.Config // nil is what the system trusts
	name   string      // the latest that was dialed by name
	latest *dialed
}

// Dial is that of nats.CustomDialer.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: connectTimeout}).DialContext(d.done, network, address)
	if err != nil {
		return nil, err
	}
	d.latest = &dialed{Conn: c, name: d.server(address), stop: context.AfterFunc(d.done, func() { c.Close() })}
	return d.latest, nil
}

// server is the name that the server's certificate has to have. Of one that another has named by an IP address
// it is that one's, as for the client.
func (d *dialer) server(address string) string {
	host, _, _ := net.SplitHostPort(address)
	switch {
	case net.ParseIP(host) == nil:
		d.name = host
	case d.name != "" && !strings.Contains(d.urls, host):
		return d.name
	}
	return host
}

// SkipTLSHandshake is called by the client when TLS is to begin, which is done here: then the guard sees what the
// server says. Before a WebSocket it is the client's.
func (d *dialer) SkipTLSHandshake() bool {
	c := d.latest
	if !c.greeted {
		return false
	}
	if c.failed == nil {
		c.failed = c.secure(d.tls)
	}
	return true
}

// A dialed connection has a guard, except for WebSocket.
type dialed struct {
	net.Conn
	name    string
	stop    func() bool
	guard   guard       // of the goroutine that reads
	greeted bool        // the server's first line has come
	ahead   bool        // and more, before the client said anything
	failed  error       // of TLS
	wrote   atomic.Bool // the first bytes, which show what is spoken
	other   atomic.Bool // it is not the plain protocol
}

// secure goes on in TLS. The client has set a deadline.
func (d *dialed) secure(config *tls.Config) error {
	if d.ahead {
		return fmt.Errorf("%w: more than one line before TLS", errProtocol)
	}
	c := tls.Client(d.Conn, dialtls.Config(config, d.name))
	if err := c.Handshake(); err != nil {
		return fmt.Errorf("transport: TLS: %w", dialtls.Explain(err))
	}
	d.Conn = c
	return nil
}

// Write looks at what the client says first.
func (d *dialed) Write(p []byte) (int, error) {
	if d.failed != nil {
		return 0, d.failed
	}
	if len(p) > 0 && !d.wrote.Swap(true) && !bytes.HasPrefix(p, []byte("CONNECT ")) {
		d.other.Store(true)
	}
	return d.Conn.Write(p)
}

// Read returns what the guard has passed.
func (d *dialed) Read(p []byte) (int, error) {
	if d.failed != nil {
		return 0, d.failed
	}
	n, err := d.Conn.Read(p)
	if n > 0 && !d.other.Load() {
		if !d.wrote.Load() {
			d.ahead = d.ahead || d.greeted
			if at := bytes.IndexByte(p[:n], '\n'); at >= 0 {
				d.greeted, d.ahead = true, d.ahead || at < n-1
			}
		}
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
