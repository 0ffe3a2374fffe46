package aio_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/sluice-go/sluice/aio"
)

// An empty queue takes one write of any size, and the end of the connection behind it: over TLS
// too, where both are many records.
func TestEmptyQueueTakesAWriteOfAnySize(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		const size = 24 << 20 // more than the kernel takes
		o.QueueLimit = 1 << 20
		for _, o.QueuePolicy = range []aio.QueuePolicy{aio.QueueRefuse, aio.QueueClose} {
			closed := make(closings, 1)
			s := serveConns(t, &aio.ConnHandler[int]{
				TLS: config,
				Data: func(c *aio.Conn[int], _ []byte) error {
					if _, err := c.Write(make([]byte, size)); err != nil {
						t.Error(err)
					}
					return c.Close()
				},
				Closed: func(_ *aio.Conn[int], reason error) { closed <- reason },
			}, aio.Server{Options: o})
			client := s.dial()
			if _, err := client.Write([]byte{1}); err != nil {
				t.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, client); n != size || err != nil {
				t.Errorf("policy %d: %d bytes came of %d, %v", o.QueuePolicy, n, size, err)
			}
			client.Close()
			if err := closed.wait(t); !errors.Is(err, net.ErrClosed) {
				t.Errorf("policy %d: closed because of %v", o.QueuePolicy, err)
			}
			s.end()
		}
	})
}
