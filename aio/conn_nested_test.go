package aio_test

import (
	"crypto/tls"
	"errors"
	"net"
	"testing"

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
		client := s.raw()
		if config != nil {
			client = tls.Client(&flightsTogether{Conn: client}, s.tls)
		}
		for _, p := range []string{"hello, ", "server"} {
			if _, err := client.Write([]byte(p)); err != nil {
				t.Fatal(err)
			}
		}
		if got := <-heard; got != "hello, server" {
			t.Errorf("the server has %q", got)
		}
		s.end()
	})
}

// flightsTogether sends the client's last handshake flight together with the first
// bytes of the program.
type flightsTogether struct {
	net.Conn
	writes int
	kept   []byte
}

func (f *flightsTogether) Write(p []byte) (int, error) {
	f.writes++
	if f.writes == 2 {
		f.kept = append(f.kept, p...)
		return len(p), nil
	}
	_, err := f.Conn.Write(append(f.kept, p...))
	f.kept = nil
	return len(p), err
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
