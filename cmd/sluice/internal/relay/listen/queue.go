package listen

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Queue wraps l, whose connections take a place among a before they are accepted, for which
// they wait at most so long unless they have sent something, which it is then the server that
// does not read, and give it back by Arrived or Close: a server has a goroutine
// and buffers for each that it has accepted, ten times what one takes that waits here. Those
// of trusted proxies need no place, since all their clients share the address, unless they
// begin with a PROXY header.
func Queue(l net.Listener, a *Arrivals, p *Proxies, within time.Duration) net.Listener {
	q := &queueListener{Listener: l, arrivals: a, proxies: p, within: within, ready: make(chan accepted)}
	q.open, q.stop = context.WithCancel(context.Background())
	return q
}

type queueListener struct {
	net.Listener
	arrivals *Arrivals
	proxies  *Proxies
	within   time.Duration
	begin    sync.Once
	ready    chan accepted
	open     context.Context // done when the listener is closed
	stop     context.CancelFunc
}

// accepted is what Accept returns.
type accepted struct {
	conn net.Conn
	err  error
}

func (l *queueListener) Accept() (net.Conn, error) {
	l.begin.Do(func() { go l.run() })
	select {
	case a := <-l.ready:
		return a.conn, a.err
	case <-l.open.Done():
		return nil, net.ErrClosed
	}
}

// Close closes the listener, and the connections that wait.
func (l *queueListener) Close() error {
	l.stop()
	return l.Listener.Close()
}

// run accepts connections until the listener is closed, here or below.
func (l *queueListener) run() {
	defer l.stop()
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			l.pass(nil, err)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		q := &Queued{arrivals: l.arrivals}
		switch c := conn.(type) {
		case *Conn:
			q.TCPConn, q.proxied = c.TCPConn, c
		case *net.TCPConn:
			if q.TCPConn = c; l.proxies.Trusts(addressOf(c)) {
				q = nil
			}
		default:
			q = nil
		}
		switch {
		case q == nil:
			l.pass(conn, nil)
		case q.proxied != nil:
			go func() { l.enter(q, l.arrivals.Come(addressOf(q), q.TCPConn, q.giveWay)) }()
		case q.tryEnter():
			l.pass(q, nil)
		default:
			place := l.arrivals.Come(addressOf(q), q.TCPConn, q.giveWay)
			go l.enter(q, place)
		}
	}
}

// enter waits for a place, and passes the connection on.
func (l *queueListener) enter(q *Queued, place *Arrival) {
	ctx, cancel := context.WithCancel(l.open)
	defer cancel()
	defer Late(q.TCPConn, l.within, cancel)()
	if err := place.Wait(ctx); err != nil {
		q.TCPConn.Close()
		return
	}
	q.keep(place)
	l.pass(q, nil)
}

// pass makes Accept return, or closes the connection with the listener.
func (l *queueListener) pass(conn net.Conn, err error) {
	select {
	case l.ready <- accepted{conn, err}:
	case <-l.open.Done():
		if conn != nil {
			conn.Close()
		}
	}
}

// A Queued connection has a place among Arrivals until its request has come. Its
// methods may be called by any goroutine.
type Queued struct {
	*net.TCPConn
	proxied  *Conn // nil without a PROXY header
	arrivals *Arrivals

	unread  []byte // what Return was given, of the goroutine that reads
	returns int

	mu     sync.Mutex
	place  *Arrival
	closed bool
}

// Read returns first what was given back.
func (c *Queued) Read(p []byte) (int, error) {
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

// tryEnter takes a place, and reports whether there was one.
func (c *Queued) tryEnter() bool {
	place := c.arrivals.TryEnter(addressOf(c), c.TCPConn, c.giveWay)
	if place != nil {
		c.keep(place)
	}
	return place != nil
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
	if !c.tryEnter() {
		c.TCPConn.Close()
	}
}

// Close closes the connection and gives its place back.
func (c *Queued) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.Arrived()
	return c.TCPConn.Close()
}
