package consensus

import (
	"io"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// The first byte of a connection between nodes says what it is for.
const (
	forRaft    = 'R' // raft's own messages
	forRecords = 'W' // records of the node's log, see transfer.go
)

const (
	introduction = 5 * time.Second // for the first byte
	maxStreams   = 256             // connections at a time
)

// streams are a node's connections: one listener for raft and for the transfer
// of records. It is raft's StreamLayer, and knows every connection, so that it can
// end them: raft itself waits for its peers' patience.
type streams struct {
	listener net.Listener
	serve    func(net.Conn) // of records
	patience time.Duration  // for the first byte
	raft     chan net.Conn
	done     chan struct{}
	running  sync.WaitGroup

	mu    sync.Mutex
	ended bool
	conns map[*stream]struct{}
}

type stream struct {
	net.Conn
	of *streams
}

func (s *stream) Close() error {
	s.of.mu.Lock()
	delete(s.of.conns, s)
	s.of.mu.Unlock()
	return s.Conn.Close()
}

func listen(addr string) (*streams, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &streams{
		listener: l,
		patience: introduction,
		raft:     make(chan net.Conn),
		done:     make(chan struct{}),
		conns:    make(map[*stream]struct{}),
	}, nil
}

// start begins to accept.
func (s *streams) start(serve func(net.Conn)) {
	s.serve = serve
	s.running.Go(s.accept)
}

func (s *streams) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			select {
			case <-s.done:
				return
			case <-time.After(50 * time.Millisecond): // out of descriptors, say
				continue
			}
		}
		if tracked, ok := s.track(c); ok {
			s.running.Go(func() { s.receive(tracked) })
		}
	}
}

// track takes a connection into the list, or closes it.
func (s *streams) track(c net.Conn) (*stream, bool) {
	tracked := &stream{c, s}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || len(s.conns) >= maxStreams {
		c.Close()
		return nil, false
	}
	s.conns[tracked] = struct{}{}
	return tracked, true
}

func (s *streams) receive(c *stream) {
	var first [1]byte
	c.SetReadDeadline(time.Now().Add(s.patience))
	if _, err := io.ReadFull(c, first[:]); err != nil {
		c.Close()
		return
	}
	c.SetReadDeadline(time.Time{})
	switch first[0] {
	case forRaft:
		select {
		case s.raft <- c: // raft closes it
		case <-s.done:
			c.Close()
		}
	case forRecords:
		s.serve(c)
		c.Close()
	default:
		c.Close()
	}
}

// dial connects to a peer.
func (s *streams) dial(addr string, timeout time.Duration, purpose byte) (net.Conn, error) {
	c, err := net.DialTimeout("tcp", addr, timeout)
	if err != nil {
		return nil, err
	}
	tracked, ok := s.track(c)
	if !ok {
		return nil, net.ErrClosed
	}
	c.SetWriteDeadline(time.Now().Add(timeout))
	if _, err := c.Write([]byte{purpose}); err != nil {
		tracked.Close()
		return nil, err
	}
	c.SetWriteDeadline(time.Time{})
	return tracked, nil
}

// Dial is raft's.
func (s *streams) Dial(addr raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return s.dial(string(addr), timeout, forRaft)
}

// Accept is raft's.
func (s *streams) Accept() (net.Conn, error) {
	select {
	case c := <-s.raft:
		return c, nil
	case <-s.done:
		return nil, net.ErrClosed
	}
}

// Addr is what the node listens on.
func (s *streams) Addr() net.Addr { return s.listener.Addr() }

// Close ends all connections. It may be called again.
func (s *streams) Close() error {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return nil
	}
	s.ended = true
	close(s.done)
	conns := s.conns
	s.conns = map[*stream]struct{}{}
	s.mu.Unlock()
	err := s.listener.Close()
	for c := range conns {
		c.Conn.Close()
	}
	return err
}
