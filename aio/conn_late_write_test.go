package aio_test

import (
	"crypto/tls"
	"io"
	"testing"

	"github.com/sluice-go/sluice/aio"
)

// What was written before Close goes out whole and with an end, and nothing after it,
// whatever other goroutines go on to write: a broadcast does not know of Close yet.
func TestWritesAfterCloseChangeNothing(t *testing.T) {
	// Some are there before the loop looks at the request.
	lateWrites(t, lateBytes, (*aio.Conn[struct{}]).Close)
}

// After CloseWrite as well; such a Write closes the connection.
func TestWritesAfterCloseWriteAreNotSent(t *testing.T) {
	lateWrites(t, 0, (*aio.Conn[struct{}]).CloseWrite)
}

// lateBytes is how many bytes are written after the end, twice.
const lateBytes = 800

func lateWrites(t *testing.T, sent int64, end func(*aio.Conn[struct{}]) error) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		const size = 8 << 20
		closed, late := make(closings, 1), make(chan struct{})
		h := &aio.ConnHandler[struct{}]{
			TLS: config,
			Data: func(c *aio.Conn[struct{}], _ []byte) error {
				if n, err := c.Write(make([]byte, size)); n != size || err != nil {
					t.Errorf("%d bytes written, %v", n, err)
				}
				if err := end(c); err != nil {
					t.Error(err)
				}
				go func() {
					defer close(late)
					write := func() {
						for range lateBytes / 8 {
							_, _ = c.Write([]byte("too late"))
						}
					}
					write()
					looked := make(chan struct{}) // at what was asked for before
					if c.Do(func() { close(looked) }) == nil {
						<-looked
					}
					write()
				}()
				return nil
			},
			Closed: func(_ *aio.Conn[struct{}], reason error) { closed <- reason },
		}
		s := serveConns(t, h, aio.Server{Options: o})
		client := s.dial()
		if _, err := client.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		<-late
		if n, err := io.Copy(io.Discard, client); n < size || n > size+sent || err != nil {
			t.Errorf("the client reads %d bytes of %d, %v", n, size, err)
		}
		client.Close()
		closed.wait(t)
		s.end()
	})
}
