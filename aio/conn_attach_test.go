package aio_test

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
)

// A connection that cannot be attached is closed, and Closed has the reason before Attach returns.
func TestAttachOfWhatIsRefused(t *testing.T) {
	for _, d := range driversHere(t) {
		if d == aio.Std {
			continue // which takes all
		}
		for _, complete := range []bool{false, true} {
			attachRefused(t, aio.Options{Driver: d, ErrorsComplete: complete})
		}
	}
}

func attachRefused(t *testing.T, o aio.Options) {
	attached := make(chan error, 1)
	var reason error
	h := &aio.ConnHandler[string]{
		Data: func(c *aio.Conn[string], p []byte) error {
			near, far := net.Pipe()
			n := c.Attach(near, "attached")
			attached <- reason
			_ = far.SetReadDeadline(time.Now().Add(time.Second)) // if it is not closed
			_, err := far.Read(p)
			if _, late := n.Write(p); late == nil {
				err = errors.New("it can be written to")
			}
			attached <- err
			return nil
		},
		Closed: func(c *aio.Conn[string], err error) {
			if c.State == "attached" {
				reason = err
			}
		},
	}
	s := serveConns(t, h, aio.Server{Options: o})
	client := s.dial()
	if _, err := client.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []error{aio.ErrUnsupported, io.EOF} {
		if err := <-attached; !errors.Is(err, want) {
			t.Errorf("%+v: after Attach of a pipe: %v, want %v", o, err, want)
		}
	}
	s.end()
}

// A connection that was closed before it is attached, as by a limit on dialing, is called so.
// There is no queue yet that could be full.
func TestAttachOfWhatIsClosed(t *testing.T) {
	for _, d := range driversHere(t) {
		if d == aio.Std {
			continue // whose read says it
		}
		attached := make(chan error, 1)
		h := &aio.ConnHandler[string]{
			Data: func(c *aio.Conn[string], _ []byte) error {
				near, _ := tcpPair(t)
				near.Close()
				c.Attach(near, "attached")
				return nil
			},
			Closed: func(c *aio.Conn[string], err error) {
				if c.State == "attached" {
					attached <- err
				}
			},
		}
		s := serveConns(t, h, aio.Server{Options: aio.Options{Driver: d}})
		client := s.dial()
		if _, err := client.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := <-attached; !errors.Is(err, net.ErrClosed) || errors.Is(err, aio.ErrQueueFull) {
			t.Errorf("%v: after Attach of a closed connection: %v, want net.ErrClosed", d, err)
		}
		s.end()
	}
}
