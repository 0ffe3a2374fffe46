package keepalive

import "net"

// Returned returns the listener of connections that were given back. The http.Server from
// which they came has to serve it as long as its other listeners.
func (s *Server) Returned() net.Listener { return &s.given }

// give hands a connection, transferred, to Accept, and closes it if there is none any more.
func (l *returned) give(c net.Conn) {
	select {
	case l.conns <- c:
	case <-l.done:
		c.Close()
	}
}

func (l *returned) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *returned) Close() error {
	l.closing.Do(func() { close(l.done) })
	return nil
}

func (l *returned) Addr() net.Addr { return address{} }

// address is that of a listener without one.
type address struct{}

func (address) Network() string { return "keepalive" }
func (address) String() string  { return "keepalive" }
