package listen

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

// A Conn is a connection from a proxy, which begins with a PROXY header. The
// header is read by the first call of Unwrap, RemoteAddr or Read.
type Conn struct {
	*net.TCPConn
	listener *proxyListener

	once   sync.Once
	remote net.Addr // address from the header; nil: the connection's own
	err    error
}

// header reads the header once. It uses the read deadline meanwhile.
func (c *Conn) header() error {
	c.once.Do(func() {
		if c.err = c.TCPConn.SetReadDeadline(time.Now().Add(c.listener.within)); c.err != nil {
			return
		}
		address, err := readHeader(c.TCPConn)
		switch {
		case err == errUnknown:
			// Not the proxy's own address: header fields from there are believed.
			c.remote, err = unknownAddr{}, nil
		case address.IsValid():
			c.remote = net.TCPAddrFromAddrPort(address)
		}
		if c.err = err; err == nil {
			c.err = c.TCPConn.SetReadDeadline(time.Time{})
		} else if errors.Is(err, ErrHeader) {
			c.listener.lacking(c.TCPConn.RemoteAddr(), err)
		}
	})
	return c.err
}

// unknownAddr is the address of a client that its proxy does not know.
type unknownAddr struct{}

func (unknownAddr) Network() string { return "tcp" }
func (unknownAddr) String() string  { return Unknown }

// RemoteAddr is the address of the proxy's client. It waits for the header.
func (c *Conn) RemoteAddr() net.Addr {
	if c.header() == nil && c.remote != nil {
		return c.remote
	}
	return c.TCPConn.RemoteAddr()
}

// NetConn returns the TCP connection, for who must not read from it.
func (c *Conn) NetConn() net.Conn { return c.TCPConn }

// Read reads what follows the header.
func (c *Conn) Read(p []byte) (int, error) {
	if err := c.header(); err != nil {
		return 0, err
	}
	return c.TCPConn.Read(p)
}

// Address is the address of a connection's peer where that is known without waiting for a header.
func Address(conn net.Conn) (address netip.Addr, ok bool) {
	if q, isQueued := conn.(*Queued); isQueued && q.proxied != nil {
		return address, false
	}
	if _, isProxied := conn.(*Conn); isProxied {
		return address, false
	}
	return addressOf(conn), true
}

// Unwrap waits for the header of a connection from a proxy, and returns the
// underlying connection and its true remote address.
func Unwrap(conn net.Conn) (plain net.Conn, remote net.Addr, err error) {
	if q, ok := conn.(*Queued); ok {
		if q.proxied == nil {
			return q.TCPConn, q.RemoteAddr(), nil
		}
		conn = q.proxied
	}
	c, ok := conn.(*Conn)
	if !ok {
		return conn, conn.RemoteAddr(), nil
	}
	if err := c.header(); err != nil {
		return c.TCPConn, c.TCPConn.RemoteAddr(), err
	}
	return c.TCPConn, c.RemoteAddr(), nil
}
