package aio_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
)

// The function that frees memory of the program (mem.Wrap) may use the connection that it was
// written to: it sends what comes next, as soon as there is room.
func TestFreeingUsesTheConnection(t *testing.T) {
	const longs = 4 << 20
	parts := func(b mem.Buf) *mem.Memory { return mem.NewMemory(b, mem.Wrap([]byte("z"), nil)) } //sluice:moved
	ways := map[string]func(h *aio.ConnHandler[int], c *aio.Conn[int], b mem.Buf) error{
		"WriteBuf":    func(_ *aio.ConnHandler[int], c *aio.Conn[int], b mem.Buf) error { return c.WriteBuf(b) },
		"WriteMemory": func(_ *aio.ConnHandler[int], c *aio.Conn[int], b mem.Buf) error { return c.WriteMemory(parts(b)) },
		"WriteMany": func(h *aio.ConnHandler[int], c *aio.Conn[int], b mem.Buf) error {
			h.WriteMany([]*aio.Conn[int]{c}, b, aio.SlowQueue) //sluice:moved
			return nil
		},
		"a slice that is copied to wait": func(_ *aio.ConnHandler[int], c *aio.Conn[int], b mem.Buf) error {
			if _, err := c.Write(make([]byte, longs)); err != nil {
				return err
			}
			slice := b.RetainedSlice(0, 1)
			b.Release()
			return c.WriteBuf(slice)
		},
	}
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		for way, write := range ways {
			for _, size := range []int{10, longs} {
				t.Run(fmt.Sprintf("%s of %d bytes", way, size), func(t *testing.T) {
					freed, closed := make(closings, 1), make(closings, 1)
					h := &aio.ConnHandler[int]{TLS: config, Closed: func(_ *aio.Conn[int], err error) { closed <- err }}
					h.Data = func(c *aio.Conn[int], _ []byte) error {
						return write(h, c, mem.Wrap(make([]byte, size), func() {
							_, err := fmt.Fprint(c, c.LocalAddr())
							c.Close()
							freed <- err
						}))
					}
					s := serveConns(t, h, aio.Server{Options: o})
					defer s.end()
					conn := s.dial()
					defer conn.Close()
					if _, err := io.WriteString(conn, "x"); err != nil {
						t.Fatal(err)
					}
					_, _ = io.Copy(io.Discard, conn)
					if err := freed.wait(t); err != nil {
						t.Errorf("writing: %v", err)
					}
					if err := closed.wait(t); err != net.ErrClosed {
						t.Errorf("closed with %v", err)
					}
				})
			}
		}
	})
}
