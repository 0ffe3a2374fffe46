package aio_test

import (
	"cmp"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// What is written after Close, in whatever way, is not sent, also when Close had nothing to
// wait for.
func TestWriteAfterClose(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		memory := mem.New(mem.Options{Name: t.Name(), Leak: mem.LeakTrace})
		sluicetest.NoLeaks(t, memory)
		o.Allocator = memory
		closed := make(closings, 1)
		h := &aio.ConnHandler[int]{TLS: config, Closed: func(_ *aio.Conn[int], reason error) { closed <- reason }}
		h.Data = func(c *aio.Conn[int], _ []byte) error {
			if _, err := io.WriteString(c, "last"); err != nil {
				t.Error(err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			refused := func(what string, err error) {
				if !errors.Is(err, aio.ErrConnClosed) {
					t.Errorf("%s after Close: %v, want ErrConnClosed", what, err)
				}
			}
			_, err := io.WriteString(c, "Write")
			refused("Write", err)
			refused("WriteBuf", c.WriteBuf(memory.Get(3)))
			m := new(mem.Memory)
			m.Append(memory.Get(5))
			refused("WriteMemory", c.WriteMemory(m))
			if s := h.WriteMany([]*aio.Conn[int]{c}, memory.Get(7), aio.SlowQueue); s != (aio.Spread{Failed: 1}) {
				t.Errorf("WriteMany after Close: %+v", s)
			}
			return nil
		}
		s := serveConns(t, h, aio.Server{Options: o})
		defer s.end()
		conn := s.dial()
		defer conn.Close()
		if _, err := io.WriteString(conn, "x"); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); string(got) != "last" || err != nil {
			t.Errorf("the peer gets %q, %v", got, err)
		}
		if reason := closed.wait(t); reason != net.ErrClosed {
			t.Errorf("Closed with %v", reason)
		}
	})
}

// So it is in Closed, for whatever reason the connection has ended, and also of
// a connection of messages, which a driver need not remember.
func TestWriteAfterTheEnd(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		memory := mem.New(mem.Options{Name: t.Name(), Leak: mem.LeakTrace})
		sluicetest.NoLeaks(t, memory)
		o.Allocator = memory
		peer, datagrams := datagrams(t)
		closed := make(closings, 2)
		late := func(c *aio.Conn[int]) error {
			_, err := io.WriteString(c, "late")
			return cmp.Or(c.WriteBuf(memory.Get(3)), err)
		}
		h := &aio.ConnHandler[int]{TLS: config}
		h.Data = func(c *aio.Conn[int], _ []byte) error {
			if c.State == 0 {
				if _, err := peer.WriteTo([]byte("x"), datagrams.LocalAddr()); err != nil {
					t.Error(err)
				}
				c.Attach(datagrams, 1)
			}
			return errOfTheProgram
		}
		h.Closed = func(c *aio.Conn[int], reason error) {
			if err := late(c); !errors.Is(err, aio.ErrConnClosed) {
				t.Errorf("a write to connection %d, closed with %v: %v, want ErrConnClosed", c.State, reason, err)
			}
			if s := h.WriteMany([]*aio.Conn[int]{c}, memory.Get(7), aio.SlowQueue); s != (aio.Spread{Failed: 1}) {
				t.Errorf("WriteMany to connection %d, closed with %v: %+v", c.State, reason, s)
			}
			closed <- reason
		}
		s := serveConns(t, h, aio.Server{Options: o})
		defer s.end()
		conn := s.dial()
		defer conn.Close()
		if _, err := io.WriteString(conn, "x"); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); len(got) > 0 || err != nil {
			t.Errorf("the peer gets %q, %v", got, err)
		}
		for range 2 {
			closed.wait(t)
		}
		if err := peer.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if n, _, err := peer.ReadFrom(make([]byte, 16)); err == nil {
			t.Errorf("a datagram of %d bytes comes", n)
		}
	})
}
