package aio_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/sluice-go/sluice/aio"
)

// CloseWrite may be called again: that does nothing, and Closed has the reason of the first.
func TestCloseWriteTwice(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		closed := make(closings, 1)
		h := &aio.ConnHandler[int]{
			TLS:  config,
			Data: func(*aio.Conn[int], []byte) error { return nil },
			Ended: func(c *aio.Conn[int]) error {
				_, err := io.WriteString(c, "bye")
				return errors.Join(err, c.CloseWrite(), c.CloseWrite())
			},
			Closed: func(c *aio.Conn[int], reason error) {
				if err := c.CloseWrite(); err != nil {
					t.Errorf("CloseWrite in Closed returns %v", err)
				}
				closed <- reason
			},
		}
		s := serveConns(t, h, aio.Server{Options: o})
		defer s.end()
		client := s.dial()
		defer client.Close()
		if err := client.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if p, err := io.ReadAll(client); string(p) != "bye" || err != nil {
			t.Errorf("the client reads %q, %v", p, err)
		}
		if err := closed.wait(t); err != io.EOF {
			t.Errorf("the reason is %v", err)
		}
	})
}

// After Close, and in and after Closed, there is no side left to end: CloseWrite says so over TLS too.
func TestCloseWriteAfterClose(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		closed := make(closings, 1)
		conns := make(chan *aio.Conn[int], 1)
		h := &aio.ConnHandler[int]{
			TLS: config,
			Open: func(c *aio.Conn[int]) error {
				_ = c.Close()
				if err := c.CloseWrite(); err != aio.ErrConnClosed {
					t.Errorf("CloseWrite after Close returns %v", err)
				}
				conns <- c
				return nil
			},
			Data: func(*aio.Conn[int], []byte) error { return nil },
			Closed: func(c *aio.Conn[int], reason error) {
				if err := c.CloseWrite(); err != aio.ErrConnClosed {
					t.Errorf("CloseWrite in Closed returns %v", err)
				}
				closed <- reason
			},
		}
		s := serveConns(t, h, aio.Server{Options: o})
		defer s.end()
		client := s.dial()
		defer client.Close()
		_, _ = io.ReadAll(client) // over TLS the handshake is in this
		if err := closed.wait(t); err != net.ErrClosed {
			t.Errorf("the reason is %v", err)
		}
		if err := (<-conns).CloseWrite(); err != aio.ErrConnClosed {
			t.Errorf("CloseWrite after Closed returns %v", err)
		}
	})
}
