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

// A write that does not fit is an error of Write, and the connection goes on, also with options that
// complete such errors.
func TestWritesThatDoNotFitAreRefused(t *testing.T) {
	for _, d := range driversHere(t) {
		for _, complete := range []bool{false, true} {
			const size = 64 << 10
			conns, closed := make(chan *aio.Conn[int], 1), make(closings, 1)
			s := serveConns(t, &aio.ConnHandler[int]{
				Open:   func(c *aio.Conn[int]) error { conns <- c; return nil },
				Data:   func(*aio.Conn[int], []byte) error { return nil },
				Closed: func(_ *aio.Conn[int], reason error) { closed <- reason },
			}, aio.Server{Options: aio.Options{Driver: d, QueueLimit: 1 << 20, ErrorsComplete: complete}})
			client := s.dial()
			conn := <-conns
			wrote := 0
			var err error
			for ; err == nil && wrote < 1000*size; wrote += size {
				_, err = conn.Write(make([]byte, size))
			}
			if wrote -= size; !errors.Is(err, aio.ErrQueueFull) {
				t.Errorf("%v, completing %v: after %d bytes: %v", d, complete, wrote, err)
			}
			if err := conn.Close(); err != nil { // when the rest is out
				t.Error(err)
			}
			if n, err := io.Copy(io.Discard, client); n != int64(wrote) || err != nil {
				t.Errorf("%v, completing %v: %d bytes came of %d, %v", d, complete, n, wrote, err)
			}
			if err := closed.wait(t); !errors.Is(err, net.ErrClosed) {
				t.Errorf("%v, completing %v: closed because of %v", d, complete, err)
			}
			s.end()
		}
	}
}
