package echobench

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/lab/internal/rawio"
)

const (
	// defaultTimeout is how long the client waits for the next event before it
	// gives the server up.
	defaultTimeout = 10 * time.Second
	// plainSpin is how long the client polls before it sleeps. Like a client on
	// another machine, one that is awake costs the server nothing to reach. Waking a
	// processor is expensive, above all on virtual machines. Over TLS goroutines need the
	// processor, and the client sleeps at once.
	plainSpin = 200 * time.Microsecond
	// unanswered is how many new connections may be without their first echo:
	// fewer than a listener's queue takes.
	unanswered = 256
	// burst is how many messages that are due are sent before the client looks
	// for answers.
	burst = 16
)

// A Client sends messages to an echo server and checks what comes back. It is
// one loop over epoll with one recv and one send for each message, over TLS with goroutines
// that encrypt beside it; call it from
// one goroutine, locked to its thread.
//
// After an error the client can only be closed.
type Client struct {
	server  *unix.SockaddrInet4
	secure  bool // connections are over TLS
	timeout time.Duration
	spin    time.Duration // how long it polls before it sleeps
	ep      int
	peers   []peer
	out     message
	buf     []byte
	events  []unix.EpollEvent
	work    work
}

type peer struct {
	fd     int
	number int // of the message that it waits for
	got    int // bytes of it that have come
	unsent int // bytes of it that the socket did not take yet
}

// work is what a call of Connect, Closed or Paced has to do: the messages from
// 0 to total, number n on connection n % across, of the new ones for Connect.
type work struct {
	across, total int

	left   int // to come back
	check  uint64
	waited time.Duration
	// answered is called for each complete message.
	answered func(p *peer, number int) error
}

// NewClient returns a client without connections, which are to be over TLS if secure is
// set. Messages have size bytes, drawn from seed. Close it when done.
func NewClient(server string, size int, seed uint64, secure bool) (*Client, error) {
	to, err := rawio.Address(server)
	if err != nil {
		return nil, err
	}
	out, err := newMessage(size, seed)
	if err != nil {
		return nil, err
	}
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	spin := plainSpin
	if secure {
		spin = 0
	}
	return &Client{
		server: to, secure: secure,
		timeout: defaultTimeout, spin: spin, ep: ep, out: out,
		// Longer than a message, so that a read of a whole one is a short read,
		// after which nothing is left.
		buf:    make([]byte, 2*size),
		events: make([]unix.EpollEvent, 1024),
	}, nil
}

// Connect opens connections until there are n, and sends one message on each
// new one, which is back when Connect returns.
func (c *Client) Connect(n int) (Result, error) {
	first := len(c.peers)
	nothing := func(*peer, int) error { return nil }
	return c.measured(work{across: max(1, n-first), total: max(0, n-first), answered: nothing}, func(w *work) error {
		for number := range w.total {
			if err := c.dial(); err != nil {
				return fmt.Errorf("echo: connection %d: %w", len(c.peers)+1, err)
			}
			if err := c.send(&c.peers[first+number], number); err != nil {
				return err
			}
			for open := number + 1 - (w.total - w.left); open >= unanswered; open = number + 1 - (w.total - w.left) {
				if err := c.step(); err != nil {
					return err
				}
			}
		}
		return c.finish()
	})
}

// Closed sends ops messages in a closed loop: spread evenly over all
// connections, with one under way on each. The latencies of the result are from the
// sending of a message to its answer.
func (c *Client) Closed(ops int) (Result, error) {
	across := len(c.peers)
	latencies := make([]time.Duration, 0, ops)
	sent := make([]time.Duration, across) // on each connection, since began
	began := time.Now()
	next := func(p *peer, number int) error {
		at := number % across
		now := time.Since(began)
		latencies = append(latencies, now-sent[at])
		if number += across; number < ops {
			sent[at] = now
			return c.send(p, number)
		}
		return nil
	}
	r, err := c.measured(work{across: across, total: ops, answered: next}, func(w *work) error {
		for number := range min(across, ops) {
			sent[number] = time.Since(began)
			if err := c.send(&c.peers[number], number); err != nil {
				return err
			}
		}
		return c.finish()
	})
	r.P50, r.P99 = Quantile(latencies, 0.5), Quantile(latencies, 0.99)
	return r, err
}

func (c *Client) measured(w work, do func(*work) error) (Result, error) {
	if w.across == 0 {
		return Result{}, errors.New("echo: a client without connections")
	}
	w.left = w.total
	c.work = w
	began := time.Now()
	if err := do(&c.work); err != nil {
		return Result{}, err
	}
	return Result{
		Messages: w.total, Bytes: int64(w.total) * int64(len(c.out)), Check: c.work.check,
		Wall: time.Since(began), Waited: c.work.waited,
	}, nil
}

func (c *Client) finish() error {
	for c.work.left > 0 {
		if err := c.step(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) step() error {
	n, err := rawio.Poll(c.ep, c.events)
	if n == 0 && err == nil {
		if n, err = c.wait(); n == 0 && err == nil {
			err = fmt.Errorf("echo: no answer for %v, %d messages of %d are not back", c.timeout, c.work.left, c.work.total)
		}
	}
	if err != nil {
		return err
	}
	return c.handle(n)
}

// wait polls for a while, then sleeps until there are events, for at most
// c.timeout.
func (c *Client) wait() (n int, err error) {
	began := time.Now()
	for n == 0 && err == nil && time.Since(began) < c.spin {
		n, err = rawio.Poll(c.ep, c.events)
	}
	for n == 0 && err == nil && time.Since(began) < c.timeout {
		n, err = rawio.Wait(c.ep, c.events, c.timeout-time.Since(began))
	}
	c.work.waited += time.Since(began)
	return n, err
}

func (c *Client) handle(n int) error {
	for i := range c.events[:n] {
		p := &c.peers[c.events[i].Fd]
		if p.unsent > 0 {
			if err := c.sendRest(p); err != nil {
				return err
			}
		}
		if err := c.receive(p, c.events[i].Events&rawio.Over != 0); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) send(p *peer, number int) error {
	p.number, p.got, p.unsent = number, 0, len(c.out)
	return c.sendRest(p)
}

func (c *Client) sendRest(p *peer) error {
	c.out.stamp(p.number)
	n, errno := rawio.Send(p.fd, c.out[len(c.out)-p.unsent:])
	if errno == unix.EAGAIN {
		return nil
	}
	if errno != 0 {
		return fmt.Errorf("echo: sending message %d: %w", p.number, errno)
	}
	// If that was not all there is an event when there is room again.
	p.unsent -= n
	return nil
}

func (c *Client) receive(p *peer, ending bool) error {
	for {
		n, errno := rawio.Recv(p.fd, c.buf)
		if errno == unix.EAGAIN {
			return nil
		}
		if errno != 0 {
			return fmt.Errorf("echo: receiving message %d: %w", p.number, errno)
		}
		if n == 0 {
			return fmt.Errorf("echo: the server closed a connection that waits for message %d", p.number)
		}
		if err := c.check(p, c.buf[:n]); err != nil {
			return err
		}
		if n < len(c.buf) && !ending {
			return nil
		}
	}
}

func (c *Client) check(p *peer, chunk []byte) error {
	for len(chunk) > 0 {
		n := min(len(chunk), len(c.out)-p.got)
		if p.number >= c.work.total {
			return fmt.Errorf("echo: %d bytes more than were sent came back", len(chunk))
		}
		if !c.out.matches(p.number, p.got, chunk[:n]) {
			return fmt.Errorf("echo: what came back of message %d is not what was sent, among bytes %d to %d", p.number, p.got, p.got+n)
		}
		chunk = chunk[n:]
		if p.got += n; p.got < len(c.out) {
			return nil
		}
		number := p.number
		c.work.left--
		c.work.check += mixed(number)
		p.number, p.got = number+c.work.across, 0
		if err := c.work.answered(p, number); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) dial() error {
	fd, err := rawio.Connect(c.server, c.timeout, func(fd int) error { return socketBuffers(fd, len(c.out)) })
	if err != nil {
		return err
	}
	if c.secure {
		if fd, err = rawio.OverTLS(fd); err != nil {
			return err
		}
	}
	if err := rawio.Watch(c.ep, fd, len(c.peers)); err != nil {
		unix.Close(fd)
		return os.NewSyscallError("epoll_ctl", err)
	}
	c.peers = append(c.peers, peer{fd: fd})
	return nil
}

// HangUp closes all connections, with a reset.
func (c *Client) HangUp() {
	for i := range c.peers {
		unix.Close(c.peers[i].fd)
	}
	c.peers = c.peers[:0]
}

// Close closes all connections and releases the client's resources.
func (c *Client) Close() {
	c.HangUp()
	unix.Close(c.ep)
}

// Paced sends ops messages, one every interval, on one connection after the
// other, whether or not earlier ones have been answered (an open loop). The
// client spins between them, so that a message is sent when it is due and an
// answer seen when it is there.
func (c *Client) Paced(ops int, interval time.Duration) (Result, error) {
	across := len(c.peers)
	if interval <= 0 {
		return Result{}, fmt.Errorf("echo: a message every %v", interval)
	}
	latencies := make([]time.Duration, 0, ops)
	lateness := make([]time.Duration, 0, ops)
	var began time.Time
	due := func(number int) time.Duration { return time.Duration(number) * interval }
	answered := func(_ *peer, number int) error {
		latencies = append(latencies, time.Since(began)-due(number))
		return nil
	}
	r, err := c.measured(work{across: across, total: ops, answered: answered}, func(*work) error {
		for i := range min(across, ops) {
			c.peers[i].number, c.peers[i].got = i, 0
		}
		began = time.Now()
		for next := 0; next < ops; {
			for range burst {
				now := time.Since(began)
				if next == ops || now < due(next) {
					break
				}
				if err := c.push(&c.peers[next%across], next); err != nil {
					return err
				}
				lateness = append(lateness, now-due(next))
				next++
			}
			n, err := rawio.Poll(c.ep, c.events)
			if err == nil {
				err = c.handle(n)
			}
			if err != nil {
				return err
			}
		}
		return c.finish()
	})
	if err != nil {
		return Result{}, err
	}
	r.P50, r.P99 = Quantile(latencies, 0.5), Quantile(latencies, 0.99)
	r.Late = Quantile(lateness, 0.99)
	return r, nil
}

// push sends the message of that number behind what the peer waits for already.
func (c *Client) push(p *peer, number int) error {
	c.out.stamp(number)
	n, errno := rawio.Send(p.fd, c.out)
	if errno != 0 {
		return fmt.Errorf("echo: sending message %d: %w", number, errno)
	}
	if n < len(c.out) {
		return fmt.Errorf("echo: the server is so far behind that the socket takes only %d bytes of message %d", n, number)
	}
	return nil
}
