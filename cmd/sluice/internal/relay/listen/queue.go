package listen

import (
	"context"
	"net"
	"sync"
)

// Queue wraps l, whose connections take a place among a before their first byte
// is read, and give it back by Arrived or Close. Those of trusted proxies need
// none, since all their clients share the address, unless they begin with a
// PROXY header.
func Queue(l net.Listener, a *Arrivals, p *Proxies) net.Listener { return &queueListener{l, a, p} }

type queueListener struct {
	net.Listener
	arrivals *Arrivals
	proxies  *Proxies
}

func (l *queueListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	q := &Queued{arrivals: l.arrivals}
	switch c := conn.(type) {
	case *Conn:
		q.TCPConn, q.proxied = c.TCPConn, c
	case *net.TCPConn:
		if l.proxies.trusts(addressOf(c)) {
			return c, nil
		}
		q.TCPConn = c
	default:
		return conn, nil
	}
	q.waiting, q.stop = context.WithCancel(context.Background())
	return q, nil
}

// A Queued connection has a place among Arrivals until its request has come. Its
// methods may be called by any goroutine.
type Queued struct {
	*net.TCPConn
	proxied  *Conn // nil without a PROXY header
	arrivals *Arrivals

	entering sync.Once
	err      error
	waiting  context.Context // done when the connection is closed
	stop     context.CancelFunc

	unread  []byte // what Return was given, of the goroutine that reads
	returns int

	mu     sync.Mutex
	place  *Arrival
	closed bool
}

// Read waits for a place first.
func (c *Queued) Read(p []byte) (int, error) {
	c.entering.Do(c.enter)
	if c.err != nil {
		return 0, c.err
	}
	if len(c.unread) > 0 {
		n := copy(p, c.unread)
		if c.unread = c.unread[n:]; len(c.unread) == 0 {
			c.unread = nil
		}
		return n, nil
	}
	if c.proxied != nil {
		return c.proxied.Read(p)
	}
	return c.TCPConn.Read(p)
}

// Return makes p, transferred, what the next reads return first. Call it while no
// goroutine reads.
func (c *Queued) Return(p []byte) {
	c.unread = p
	c.returns++
}

// Returns is how often Return was called.
func (c *Queued) Returns() int { return c.returns }

// NetConn returns the TCP connection, for who must not read from it.
func (c *Queued) NetConn() net.Conn { return c.TCPConn }

// RemoteAddr is the true address, for which it may wait: see Conn.
func (c *Queued) RemoteAddr() net.Addr {
	if c.proxied != nil {
		return c.proxied.RemoteAddr()
	}
	return c.TCPConn.RemoteAddr()
}

func (c *Queued) enter() {
	place, err := c.arrivals.Enter(c.waiting, addressOf(c), c.giveWay)
	if err != nil {
		c.err = err
		return
	}
	c.keep(place)
}

// giveWay closes the connection without waiting for a lock.
func (c *Queued) giveWay(error) { c.TCPConn.Close() }

// keep stores a place, or gives it back when the connection is closed.
func (c *Queued) keep(place *Arrival) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		place.Leave()
		return
	}
	c.place = place
	c.mu.Unlock()
}

// Arrived gives the place back: a request has come.
func (c *Queued) Arrived() {
	c.mu.Lock()
	place := c.place
	c.place = nil
	c.mu.Unlock()
	if place != nil {
		place.Leave()
	}
}

// Rest takes a place again for a connection between two requests. Without a free
// one the connection is closed: its client can open another.
func (c *Queued) Rest() {
	place := c.arrivals.TryEnter(addressOf(c).Unmap(), c.giveWay)
	if place == nil {
		c.TCPConn.Close()
		return
	}
	c.keep(place)
}

// Close closes the connection and gives its place back.
func (c *Queued) Close() error {
	c.stop()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.Arrived()
	return c.TCPConn.Close()
}
