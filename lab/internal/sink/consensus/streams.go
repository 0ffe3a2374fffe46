package consensus

import (
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// maxStreams is how many connections a node has at a time.
const maxStreams = 256

// streams are a node's connections. It is raft's StreamLayer, and knows every
// connection, so that it can end them: raft itself waits for its peers to time out.
type streams struct {
	listener net.Listener
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
		raft:     make(chan net.Conn),
		done:     make(chan struct{}),
		conns:    make(map[*stream]struct{}),
	}, nil
}

// start begins to accept.
func (s *streams) start() { s.running.Go(s.accept) }

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
			select {
			case s.raft <- tracked: // raft closes it
			case <-s.done:
				tracked.Close()
			}
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

// Dial is raft's.
func (s *streams) Dial(addr raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	c, err := net.DialTimeout("tcp", string(addr), timeout)
	if err != nil {
		return nil, err
	}
	tracked, ok := s.track(c)
	if !ok {
		return nil, net.ErrClosed
	}
	return tracked, nil
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
