package keepalive

import (
	"bufio"
	"context"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/waiting"
)

// A Conn is a connection that can be given back to net/http.
type Conn interface {
	net.Conn
	// Return makes p, transferred, what the next reads return first.
	Return(p []byte)
}

// Options configure a Server. All fields are required.
type Options struct {
	Handler http.Handler
	// Serves reports whether a request is for this server. Those for which it is not, and
	// for which Plain is not true, go to net/http.
	Serves func(*http.Request) bool
	State  func(net.Conn, http.ConnState) // as http.Server.ConnState: StateActive, StateIdle and StateClosed
	Idle   time.Duration                  // the longest time without a request
	Header time.Duration                  // from the first byte of a header to its last
	Answer time.Duration                  // the write deadline of an answer, which its handler may move
	Watch  time.Duration                  // for how long a handler runs before its client may leave
	Log    *log.Logger                    // panics of handlers
}

// Server serves connections that net/http has served before.
type Server struct {
	Options
	ctx    context.Context
	cancel context.CancelFunc
	given  returned
	inputs spares[*input]
	outs   spares[*bufio.Writer]
	on     waiting.Count // of conns

	mu      sync.Mutex
	conns   map[*conn]struct{}
	closing bool
}

// A conn is served by one goroutine.
type conn struct {
	server *Server
	conn   Conn
	remote string
	first  [1]byte // of the next request: no buffer is needed to wait for it
	come   bool    // first has come while the request before was served
	watch  watch
	ctx    context.Context // done when the connection ends
	cancel context.CancelFunc
	busy   bool // from a request's header to the end of its answer; under the server's lock
}

// A watch ends the context of a connection whose client leaves while a request is served. It
// costs a goroutine, which begins when a handler has run for some time: most have answered
// by then.
type watch struct {
	conn  *conn
	timer *time.Timer

	mu   sync.Mutex
	on   bool          // a request is served
	read chan struct{} // closed when the goroutine has ended; nil: none has begun for this request
}

// returned is a listener, for http.Server.Serve, of connections that go back to net/http.
type returned struct {
	conns   chan net.Conn
	done    chan struct{}
	closing sync.Once
}

// New makes a server.
func New(o Options) *Server {
	s := &Server{Options: o, conns: map[*conn]struct{}{}, given: returned{conns: make(chan net.Conn), done: make(chan struct{})}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.inputs = newSpares(newInput)
	s.outs = newSpares(func() *bufio.Writer { return bufio.NewWriterSize(nil, outSize) })
	return s
}

// outSize is the size of the buffers for answers: those of net/http.
const outSize = 4 << 10

// begin marks a connection as busy: Drain lets it answer. It returns false when the server
// closes.
func (s *Server) begin(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.busy = !s.closing
	return c.busy
}

// rest marks a connection as idle. It returns false when the server closes.
func (s *Server) rest(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.busy = false
	return !s.closing
}

// isClosing reports whether answers are the last ones of their connections.
func (s *Server) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.on.Add(-1)
}

// Number is how many connections there are.
func (s *Server) Number() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Drain closes idle connections, and others when they have been answered. It does not wait.
func (s *Server) Drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	for c := range s.conns {
		if !c.busy {
			c.conn.Close()
		}
	}
}

// Wait waits until there are no connections, or ctx is done.
func (s *Server) Wait(ctx context.Context) error { return s.on.Wait(ctx) }

// Close closes all connections, and ends the contexts of requests. It does not wait.
func (s *Server) Close() {
	s.cancel()
	s.Drain()
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.conn.Close()
	}
}
