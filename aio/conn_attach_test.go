package aio_test

import (
	"errors"
	"io"
	"net"
	"testing"

	"github.com/sluice-go/sluice/aio"
)

// A connection that cannot be attached is closed, and Closed has the reason before Attach returns.
func TestAttachOfWhatIsRefused(t *testing.T) {
	for _, d := range driversHere(t) {
		if d == aio.Std {
			continue // which takes all
		}
		attached := make(chan error, 1)
		var reason error
		h := &aio.ConnHandler[string]{
			Data: func(c *aio.Conn[string], p []byte) error {
				near, far := net.Pipe()
				n := c.Attach(near, "attached")
				_, err := far.Read(p)
				if _, late := n.Write(p); late == nil {
					err = errors.New("it can be written to")
				}
				attached <- errors.Join(reason, err)
				return nil
			},
			Closed: func(c *aio.Conn[string], err error) {
				if c.State == "attached" {
					reason = err
				}
			},
		}
		s := serveConns(t, h, aio.Server{Options: aio.Options{Driver: d}})
		client := s.dial()
		if _, err := client.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := <-attached; !errors.Is(err, aio.ErrUnsupported) || !errors.Is(err, io.EOF) {
			t.Errorf("%v: after Attach of a pipe: %v", d, err)
		}
		s.end()
	}
}
