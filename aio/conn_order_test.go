package aio_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
)

// nesting notices callbacks of one connection that run inside each other.
type nesting struct{ inside string }

func (n *nesting) enter(t *testing.T, name string) (leave func()) {
	if n.inside != "" {
		t.Errorf("%s is called inside %s", name, n.inside)
	}
	before := n.inside
	n.inside = name
	return func() { n.inside = before }
}

// Resume in a callback of the connection itself delivers what waits after the callback,
// as the order Open, Data, Closed says. With TLS the client's first bytes are there
// before Open.
func TestResumeInOpenCallsNothingInside(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		heard := make(chan string, 10)
		var got []byte
		s := serveConns(t, &aio.ConnHandler[nesting]{
			TLS: config,
			Open: func(c *aio.Conn[nesting]) error {
				defer c.State.enter(t, "Open")()
				c.Pause()
				c.Resume()
				return nil
			},
			Data: func(c *aio.Conn[nesting], p []byte) error {
				defer c.State.enter(t, "Data")()
				c.Pause()
				c.Resume()
				if got = append(got, p...); len(got) == len("hello, server") {
					heard <- string(got)
				}
				return nil
			},
			Closed: func(c *aio.Conn[nesting], _ error) { c.State.enter(t, "Closed") },
		}, aio.Server{Options: o})
		client, flush := s.dialHolding()
		if _, err := client.Write([]byte("hello, ")); err != nil {
			t.Fatal(err)
		}
		flush()
		if _, err := client.Write([]byte("server")); err != nil {
			t.Fatal(err)
		}
		if got := <-heard; got != "hello, server" {
			t.Errorf("the server has %q", got)
		}
		s.end()
	})
}

// dialHolding is dial, with the client's last handshake flight and what follows held back
// until flush.
func (s *connServer) dialHolding() (client net.Conn, flush func()) {
	s.t.Helper()
	if s.tls == nil {
		return s.raw(), func() {}
	}
	held := &holding{Conn: s.raw()}
	secure := tls.Client(held, s.tls)
	if err := secure.Handshake(); err != nil {
		s.t.Fatal(err)
	}
	return secure, func() {
		if err := held.flush(); err != nil {
			s.t.Fatal(err)
		}
	}
}

// holding passes the first Write on, and holds the others back until flush.
type holding struct {
	net.Conn
	begun, flushed bool
	held           []byte
}

func (h *holding) Write(p []byte) (int, error) {
	if !h.begun || h.flushed {
		h.begun = true
		return h.Conn.Write(p)
	}
	h.held = append(h.held, p...)
	return len(p), nil
}

func (h *holding) flush() error {
	h.flushed = true
	if err := h.SetWriteDeadline(time.Now().Add(atMost)); err != nil { // close_notify has set one
		return err
	}
	_, err := h.Conn.Write(h.held)
	return err
}

// A connection that its watcher has closed ends after the callback that resumes it.
func TestResumeOfAConnectionThatIsClosedCallsNothingInside(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		o.QueueLimit, o.QueuePolicy = 1<<20, aio.QueueClose
		closed := make(closings, 10)
		s := serveConns(t, &aio.ConnHandler[nesting]{
			TLS: config,
			Data: func(c *aio.Conn[nesting], p []byte) error {
				defer c.State.enter(t, "Data")()
				c.Pause()
				var err error
				for err == nil {
					_, err = c.Write(make([]byte, 256<<10))
				}
				c.Resume()
				return nil
			},
			Closed: func(c *aio.Conn[nesting], reason error) {
				defer c.State.enter(t, "Closed")()
				closed <- reason
			},
		}, aio.Server{Options: o})
		client := s.dial()
		if _, err := client.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := closed.wait(t); !errors.Is(err, aio.ErrQueueFull) {
			t.Errorf("closed because of %v", err)
		}
		s.end()
	})
}

// A peer whose close_notify comes with the end of the handshake, and whose end of the
// stream comes later, has ended once, and can be answered.
func TestEndedOnceBehindTheHandshake(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		if config == nil {
			return
		}
		ended, closed := make(chan *aio.Conn[int], 10), make(closings, 10)
		s := serveConns(t, &aio.ConnHandler[int]{
			TLS:    config,
			Data:   func(c *aio.Conn[int], p []byte) error { _, err := c.Write(p); return err },
			Ended:  func(c *aio.Conn[int]) error { ended <- c; return nil },
			Closed: func(_ *aio.Conn[int], reason error) { closed <- reason },
		}, aio.Server{Options: o})
		client, flush := s.dialHolding()
		if _, err := client.Write([]byte("question")); err != nil {
			t.Fatal(err)
		}
		if err := client.(*tls.Conn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		flush()
		c := <-ended
		if err := client.(*tls.Conn).NetConn().(*holding).Conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		sayAndHear(t, s.dial(), "the same watcher has seen the end of the stream")
		if _, err := c.Write([]byte(", answer")); err != nil {
			t.Error(err)
		}
		got := make([]byte, len("question, answer"))
		if _, err := io.ReadFull(client, got); err != nil || string(got) != "question, answer" {
			t.Errorf("the client has %q, %v", got, err)
		}
		if len(ended) > 0 {
			t.Error("Ended is called again")
		}
		s.end()
		if err := closed.wait(t); !errors.Is(err, aio.ErrWatcherClosed) {
			t.Errorf("closed because of %v", err)
		}
	})
}
