package echobench

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

// tlsClient is a client of servers that speak TLS: a goroutine for each connection. Its
// own cost is not measured: the server is on another processor.
type tlsClient struct {
	server netip.AddrPort
	size   int
	seed   uint64
	peers  []*tlsPeer

	timeout time.Duration
}

// tlsPeer is a connection, with a message of its own.
type tlsPeer struct {
	conn    net.Conn
	out     message
	in      []byte
	timeout time.Duration // of a message there and back
}

// handshakesAtOnce is how many connections are opened at once.
const handshakesAtOnce = 32

// Connect is Client.Connect.
func (c *tlsClient) Connect(n int) (Result, error) {
	first := len(c.peers)
	for len(c.peers) < n {
		out, err := newMessage(c.size, c.seed)
		if err != nil {
			return Result{}, err
		}
		c.peers = append(c.peers, &tlsPeer{out: out, in: make([]byte, c.size), timeout: c.timeout})
	}
	slots := make(chan struct{}, handshakesAtOnce)
	return c.measured(c.peers[first:], len(c.peers)-first, func(p *tlsPeer) error {
		slots <- struct{}{}
		defer func() { <-slots }()
		raw, err := net.DialTimeout("tcp", c.server.String(), c.timeout)
		if err != nil {
			return err
		}
		if err := raw.(*net.TCPConn).SetLinger(0); err != nil {
			return err
		}
		// The certificate was made for this run.
		p.conn = tls.Client(raw, &tls.Config{InsecureSkipVerify: true})
		return nil
	})
}

// Closed is Client.Closed.
func (c *tlsClient) Closed(ops int) (Result, error) {
	if len(c.peers) == 0 {
		return Result{}, errors.New("echo: a client without connections")
	}
	return c.measured(c.peers, ops, func(*tlsPeer) error { return nil })
}

// Paced is not there for TLS.
func (c *tlsClient) Paced(int, time.Duration) (Result, error) {
	return Result{}, errors.New("echo: no paced messages over TLS")
}

// measured has each of peers begin, and send its share of the messages, number n on
// peer n % len(peers).
func (c *tlsClient) measured(peers []*tlsPeer, total int, begin func(*tlsPeer) error) (Result, error) {
	before, began := ownCPU(), time.Now()
	var all sync.WaitGroup
	errs := make([]error, len(peers))
	sums := make([]uint64, len(peers))
	for i, p := range peers {
		all.Go(func() {
			if errs[i] = begin(p); errs[i] != nil {
				return
			}
			for number := i; number < total; number += len(peers) {
				if errs[i] = p.echo(number); errs[i] != nil {
					return
				}
				sums[i] += mixed(number)
			}
		})
	}
	all.Wait()
	var check uint64
	for _, sum := range sums {
		check += sum
	}
	return Result{
		Messages: total, Bytes: int64(total) * int64(c.size), Check: check,
		Wall: time.Since(began), CPU: ownCPU() - before,
	}, errors.Join(errs...)
}

// echo sends the message of that number and compares what comes back.
func (p *tlsPeer) echo(number int) error {
	if err := p.conn.SetDeadline(time.Now().Add(p.timeout)); err != nil {
		return err
	}
	p.out.stamp(number)
	if _, err := p.conn.Write(p.out); err != nil {
		return fmt.Errorf("echo: sending message %d: %w", number, err)
	}
	if _, err := io.ReadFull(p.conn, p.in); err != nil {
		return fmt.Errorf("echo: receiving message %d: %w", number, err)
	}
	if !p.out.matches(number, 0, p.in) {
		return fmt.Errorf("echo: what came back of message %d is not what was sent", number)
	}
	return nil
}

// HangUp closes all connections, with a reset.
func (c *tlsClient) HangUp() {
	for _, p := range c.peers {
		if conn, ok := p.conn.(*tls.Conn); ok {
			conn.NetConn().Close()
		}
	}
	c.peers = c.peers[:0]
}

// Close hangs up.
func (c *tlsClient) Close() { c.HangUp() }

// newHosted returns a client of a server that speaks TLS if secure is set.
func newHosted(server netip.AddrPort, size int, seed uint64, secure bool) (hosted, error) {
	if !secure {
		return NewClient(server, size, seed)
	}
	return &tlsClient{server: server, size: size, seed: seed, timeout: defaultTimeout}, checkSize(size)
}

// hosted is a client that HostClient runs.
type hosted interface {
	Connect(n int) (Result, error)
	Closed(ops int) (Result, error)
	Paced(ops int, interval time.Duration) (Result, error)
	HangUp()
	Close()
}
