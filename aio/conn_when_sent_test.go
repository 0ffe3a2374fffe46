package aio_test

import (
	"crypto/tls"
	"io"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
)

// pipelined is a connection with requests in hand, of a byte each.
type pipelined struct {
	left  int
	waits bool // for WhenSent
	ended bool
}

// A peer that sends its requests together, each with a long answer, and ends its side, gets all
// answers, and no more is queued for it than the bound and one of them.
func TestAnswersInTurnWithWhatIsSent(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		const requests, size, bound = 300, 96 << 10, 1 << 20
		var most int
		full := make(chan struct{})
		answer := make([]byte, size)
		var goOn func(c *aio.Conn[pipelined]) error
		goOn = func(c *aio.Conn[pipelined]) error {
			s := &c.State
			for s.left > 0 && !s.waits {
				if n := c.Queued(); n > bound {
					if most == 0 {
						close(full)
					}
					most = max(most, n)
					s.waits = true
					return c.WhenSent(func() {
						s.waits = false
						if err := goOn(c); err != nil {
							t.Error(err)
						}
					})
				}
				if _, err := c.Write(answer); err != nil {
					return err
				}
				s.left--
			}
			if s.ended && !s.waits {
				return c.CloseWrite()
			}
			return nil
		}
		closed := make(closings, 1)
		s := serveConns(t, &aio.ConnHandler[pipelined]{
			TLS: config,
			Data: func(c *aio.Conn[pipelined], p []byte) error {
				c.State.left += len(p)
				return goOn(c)
			},
			Ended: func(c *aio.Conn[pipelined]) error {
				c.State.ended = true
				return goOn(c)
			},
			Closed: func(_ *aio.Conn[pipelined], reason error) { closed <- reason },
		}, aio.Server{Options: o})
		client := s.dial()
		if _, err := client.Write(make([]byte, requests)); err != nil {
			t.Fatal(err)
		}
		if err := client.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-full:
		case err := <-closed:
			t.Fatalf("closed because of %v", err)
		case <-time.After(atMost):
			t.Fatal("the queue is never full")
		}
		if n, err := io.Copy(io.Discard, client); n != requests*size || err != nil {
			t.Errorf("%d bytes came of %d, %v", n, requests*size, err)
		}
		client.Close()
		if err := closed.wait(t); err != io.EOF {
			t.Errorf("closed because of %v", err)
		}
		s.end()
		if most > bound+2*size {
			t.Errorf("%d bytes were queued, at most %d and an answer may be", most, bound)
		}
	})
}

func TestWhenSentOfWhatIsNeverSent(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		closed := make(closings, 1)
		var ended *aio.Conn[int]
		s := serveConns(t, &aio.ConnHandler[int]{
			TLS: config,
			Data: func(c *aio.Conn[int], _ []byte) error {
				if _, err := c.Write(make([]byte, 32<<20)); err != nil {
					return err
				}
				ended = c
				return c.WhenSent(func() { t.Error("the connection has ended before that was sent") })
			},
			Closed: func(_ *aio.Conn[int], reason error) { closed <- reason },
		}, aio.Server{Options: o})
		client := s.dial()
		if _, err := client.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(client, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		client.Close()
		if err := closed.wait(t); err == nil {
			t.Error("closed without a reason")
		}
		s.end()
		if err := ended.WhenSent(func() {}); err == nil {
			t.Error("WhenSent of a connection that has ended: no error")
		}
	})
}

// f is called at once, but not within WhenSent, when nothing waits.
func TestWhenSentOfNothing(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		s := serveConns(t, &aio.ConnHandler[int]{
			TLS: config,
			Data: func(c *aio.Conn[int], p []byte) error {
				n := c.State
				err := c.WhenSent(func() {
					c.State++
					if _, err := c.Write([]byte{byte(c.State)}); err != nil {
						t.Error(err)
					}
				})
				if c.State != n {
					t.Error("f is called within WhenSent")
				}
				return err
			},
		}, aio.Server{Options: o})
		client := s.dial()
		for i := range 3 {
			p := []byte{0}
			if _, err := client.Write(p); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(client, p); err != nil || p[0] != byte(i+1) {
				t.Fatalf("%d, %v", p[0], err)
			}
		}
		client.Close()
		s.end()
	})
}
