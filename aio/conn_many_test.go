package aio_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

func TestWriteManyToConns(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		for _, slow := range []aio.SlowPolicy{aio.SlowQueue, aio.SlowSkip, aio.SlowClose} {
			const n = 5
			opened := make(chan *aio.Conn[int], n)
			closed := make(closings, n)
			h := &aio.ConnHandler[int]{
				TLS:    config,
				Open:   func(c *aio.Conn[int]) error { opened <- c; return nil },
				Data:   func(*aio.Conn[int], []byte) error { return nil },
				Closed: func(_ *aio.Conn[int], reason error) { closed <- reason },
			}
			s := serveConns(t, h, aio.Server{Options: o, Watchers: 2})
			var clients []net.Conn
			var conns []*aio.Conn[int]
			for range n {
				clients = append(clients, s.dial())
				conns = append(conns, <-opened)
			}
			// Std sends by a goroutine, also what belongs to the handshake.
			for deadline := time.Now().Add(atMost); slices.ContainsFunc(conns, func(c *aio.Conn[int]) bool { return c.Queued() > 0 }); runtime.Gosched() {
				if time.Now().After(deadline) {
					t.Fatal("what belongs to the handshakes is still queued")
				}
			}
			// The first client takes nothing until its connection lags.
			lagging := make([]byte, 8<<20)
			if _, err := conns[0].Write(lagging); err != nil {
				t.Fatal(err)
			}
			frame := s.memory.Get(100_000)
			for i := range frame.Bytes() {
				frame.Bytes()[i] = byte(i >> 4)
			}
			want := bytes.Clone(frame.Bytes())
			got := h.WriteMany(conns, frame, slow)
			if sum := got.Written + got.Queued + got.Skipped + got.Closed + got.Failed; sum != n || got.Failed > 0 {
				t.Errorf("%d: %+v of %d connections", slow, got, n)
			}
			if (slow == aio.SlowSkip) != (got.Skipped == 1) || (slow == aio.SlowClose) != (got.Closed == 1) {
				t.Errorf("%d: %+v", slow, got)
			}
			for _, c := range clients[1:] {
				p := make([]byte, len(want))
				if _, err := io.ReadFull(c, p); err != nil || !bytes.Equal(p, want) {
					t.Errorf("%d: another frame, or %v", slow, err)
				}
			}
			switch slow {
			case aio.SlowClose:
				if err := closed.wait(t); !errors.Is(err, aio.ErrQueueFull) {
					t.Errorf("the reason is %v", err)
				}
			default:
				all := make([]byte, len(lagging))
				if _, err := io.ReadFull(clients[0], all); err != nil {
					t.Fatal(err)
				}
				if slow == aio.SlowQueue {
					p := make([]byte, len(want))
					if _, err := io.ReadFull(clients[0], p); err != nil || !bytes.Equal(p, want) {
						t.Errorf("another frame behind the others, or %v", err)
					}
				}
			}
			for _, c := range clients {
				c.Close()
			}
			s.end()
		}
	})
}

// heldOpen is a listener of connections whose Close waits for the channel.
type heldOpen struct {
	net.Listener
	until chan struct{}
}

func (l heldOpen) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &heldConn{c, l.until}, nil
}

type heldConn struct {
	net.Conn
	until chan struct{}
}

func (c *heldConn) Close() error {
	<-c.until
	return c.Conn.Close()
}

// A connection that was closed for its queue says so, also when more is written to it
// before what was pending has ended.
func TestTheReasonIsTheFullQueueAlsoWhenMoreIsWritten(t *testing.T) {
	for _, slow := range []aio.SlowPolicy{aio.SlowQueue, aio.SlowClose} {
		opened := make(chan *aio.Conn[int], 1)
		closed := make(closings, 1)
		h := &aio.ConnHandler[int]{
			Open:   func(c *aio.Conn[int]) error { opened <- c; return nil },
			Data:   func(*aio.Conn[int], []byte) error { return nil },
			Closed: func(_ *aio.Conn[int], reason error) { closed <- reason },
		}
		until := make(chan struct{})
		s := serveConns(t, h, aio.Server{Options: aio.Options{
			Driver: aio.Std, QueueLimit: 1 << 20, QueuePolicy: aio.QueueClose,
		}}, heldOpen{listenOn(t, 1)[0], until})
		client := s.dial()
		defer client.Close()
		c := <-opened
		if _, err := c.Write(make([]byte, 32<<20)); err != nil {
			t.Fatal(err)
		}
		for want := (aio.Spread{Closed: 1}); ; want = (aio.Spread{Failed: 1}) {
			if got := h.WriteMany([]*aio.Conn[int]{c}, s.memory.Get(2<<20), slow); got != want {
				t.Errorf("%d: %+v, want %+v", slow, got, want)
			}
			if want.Failed > 0 {
				break
			}
		}
		// Close still waits: only the second WriteMany can have completed.
		passed := make(chan struct{})
		if err := c.Do(func() { close(passed) }); err != nil {
			t.Fatal(err)
		}
		<-passed
		close(until)
		if err := closed.wait(t); !errors.Is(err, aio.ErrQueueFull) {
			t.Errorf("%d: the reason is %v", slow, err)
		}
		s.end()
	}
}

// pair is the state of a gateway's connections.
type pair struct{ other *aio.Conn[pair] }

// gateway passes on what each side says, with each at the other's pace.
func gateway(t *testing.T, config *tls.Config, backend string) *aio.ConnHandler[pair] {
	return &aio.ConnHandler[pair]{
		TLS: config,
		Open: func(c *aio.Conn[pair]) error {
			c.Pause() // until the backend is there
			go func() {
				conn, err := net.Dial("tcp", backend)
				if err != nil {
					t.Error(err)
					return
				}
				if err := c.Do(func() {
					other := c.Attach(conn, pair{c})
					c.State.other = other
					c.PaceBy(other)
					other.PaceBy(c)
					c.Resume()
				}); err != nil {
					conn.Close()
				}
			}()
			return nil
		},
		Buf: func(c *aio.Conn[pair], b mem.Buf) error { return c.State.other.WriteBuf(b) }, //sluice:moved
		Closed: func(c *aio.Conn[pair], _ error) {
			if c.State.other != nil {
				c.State.other.Close()
			}
		},
	}
}

func TestGateway(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		const message = 8 << 20
		h, closed := echoHandler(t, nil, true)
		backend := serveConns(t, h, aio.Server{})
		g := serveConns(t, gateway(t, config, backend.addr), aio.Server{Options: o})
		rounds := 2
		if sys.Race {
			rounds = 1
		}
		for range rounds {
			client := g.dial()
			converse(t, client, 1000)
			// A client that does not read holds up the backend, through the gateway.
			sent := make(chan error, 1)
			go func() {
				_, err := client.Write(make([]byte, message))
				sent <- err
			}()
			other := g.dial()
			for range 50 {
				converse(t, other, 10_000)
			}
			if held := g.memory.Stats().OutBytes; held > 4<<20 {
				t.Errorf("the gateway holds %d bytes", held)
			}
			if n, err := io.CopyN(io.Discard, client, message); n != message || err != nil {
				t.Errorf("%d bytes come back, %v", n, err)
			}
			if err := <-sent; err != nil {
				t.Error(err)
			}
			client.Close()
			other.Close()
			for range 2 { // the backend sees the ends
				closed.wait(t)
			}
		}
		backend.stop() // the end of each looks for goroutines of both
		g.end()
		backend.end()
	})
}
