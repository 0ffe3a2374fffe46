package aio_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
)

// Serve gives back what reads without a buffer were lent, whatever is on its way
// when it ends.
func TestServeGivesAllMemoryBack(t *testing.T) {
	for _, driver := range []aio.Driver{aio.Auto, aio.Std} {
		t.Run(driver.String(), func(t *testing.T) {
			for range 5 {
				a := mem.New(mem.Options{Name: "serve"})
				h := handler{
					accepted: func(w *aio.Watcher, conn net.Conn) { _ = w.Read(nil, conn, nil) },
					completed: func(w *aio.Watcher, r *aio.OpResult) {
						if r.Error != nil || r.Operation != aio.OpRead {
							return
						}
						_ = errors.Join(w.Write(nil, r.Conn, r.Buffer), w.Read(nil, r.Conn, nil))
					},
				}
				s := serve(t, &aio.Server{Options: aio.Options{Driver: driver, Allocator: a}, Grace: -1, Handler: h}, listenOn(t, 1))
				message := bytes.Repeat([]byte("never taken "), 1<<20)
				for range 4 {
					c := dialTo(t, "tcp", s.addrs[0])
					go func() { _, _ = c.Write(message) }()
					if _, err := io.ReadFull(c, make([]byte, 1000)); err != nil {
						t.Fatal(err)
					}
				}
				s.stop()
				if err := s.wait(); err != nil {
					t.Error(err)
				}
				if out := a.Stats().CheckedOut; out != 0 {
					t.Errorf("%d blocks are out when Serve has returned", out)
				}
			}
		})
	}
}
