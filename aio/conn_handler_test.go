package aio_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/internal/testcert"
	"github.com/sluice-go/sluice/mem"
)

// session is a state of one connection.
type session struct {
	opened, closed bool
	bytes          int
	inCallback     atomic.Bool
}

// enter is for callbacks, which are never at once.
func (s *session) enter(t *testing.T) func() {
	if !s.inCallback.CompareAndSwap(false, true) {
		t.Error("two callbacks at once")
	}
	return func() { s.inCallback.Store(false) }
}

// echoHandler sends back what it gets, and checks the order of the callbacks.
func echoHandler(t *testing.T, config *tls.Config, counted bool) (*aio.ConnHandler[session], closings) {
	closed := make(closings, 100)
	h := &aio.ConnHandler[session]{
		TLS: config,
		Open: func(c *aio.Conn[session]) error {
			defer c.State.enter(t)()
			if c.State.opened {
				t.Error("opened twice")
			}
			c.State.opened = true
			return nil
		},
		Closed: func(c *aio.Conn[session], reason error) {
			defer c.State.enter(t)()
			if !c.State.opened || c.State.closed {
				t.Errorf("closed with %v: opened %v, closed %v", reason, c.State.opened, c.State.closed)
			}
			c.State.closed = true
			closed <- reason
		},
	}
	received := func(c *aio.Conn[session], p []byte) {
		if !c.State.opened || c.State.closed || len(p) == 0 {
			t.Errorf("%d bytes: opened %v, closed %v", len(p), c.State.opened, c.State.closed)
		}
		c.State.bytes += len(p)
	}
	if counted {
		h.Buf = func(c *aio.Conn[session], b mem.Buf) error {
			defer c.State.enter(t)()
			received(c, b.Bytes())
			return c.WriteBuf(b) //sluice:moved
		}
	} else {
		h.Data = func(c *aio.Conn[session], p []byte) error {
			defer c.State.enter(t)()
			received(c, p)
			_, err := c.Write(p)
			return err
		}
	}
	return h, closed
}

// converse sends n bytes and compares what comes back.
func converse(t *testing.T, c net.Conn, n int) {
	t.Helper()
	if err := tryConverse(c, n); err != nil {
		t.Fatal(err)
	}
}

// tryConverse is converse where the server may have ended the connection.
func tryConverse(c net.Conn, n int) error {
	said := make([]byte, n)
	for i := range said {
		said[i] = byte(i >> 3)
	}
	wrote := make(chan error, 1)
	go func() {
		_, err := c.Write(said)
		wrote <- err
	}()
	heard := make([]byte, n)
	if _, err := io.ReadFull(c, heard); err != nil {
		return fmt.Errorf("the answer to %d bytes: %w", n, err)
	}
	if err := <-wrote; err != nil {
		return err
	}
	if !bytes.Equal(said, heard) {
		return fmt.Errorf("the answer to %d bytes is another", n)
	}
	return nil
}

func TestConnHandlerEcho(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		for _, counted := range []bool{false, true} {
			for _, l := range []net.Listener{listenOn(t, 1)[0], unixListener(t), foreign{listenOn(t, 1)[0]}} {
				h, closed := echoHandler(t, config, counted)
				s := serveConns(t, h, aio.Server{Options: o, Watchers: 2}, l)
				var clients []net.Conn
				for range 6 {
					clients = append(clients, s.dial())
				}
				for _, n := range []int{1, 100, 5000, 150_000} {
					for _, c := range clients {
						converse(t, c, n)
					}
				}
				for _, c := range clients {
					c.Close()
					if err := closed.wait(t); err != io.EOF {
						t.Errorf("the reason is %v", err)
					}
				}
				s.end()
				if len(closed) > 0 {
					t.Errorf("%d connections were closed twice", len(closed))
				}
			}
		}
	})
}

func TestReasonsOfTheEnd(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		closed := make(closings, 10)
		var conns = make(chan *aio.Conn[int], 10)
		h := &aio.ConnHandler[int]{
			TLS: config,
			Open: func(c *aio.Conn[int]) error {
				conns <- c
				c.Write([]byte("hello"))
				return nil
			},
			Data:   func(c *aio.Conn[int], p []byte) error { return errOfTheProgram },
			Closed: func(c *aio.Conn[int], reason error) { closed <- reason },
		}
		s := serveConns(t, h, aio.Server{Options: o})
		hello := func() (net.Conn, *aio.Conn[int]) {
			client := s.dial()
			p := make([]byte, 5)
			if _, err := io.ReadFull(client, p); err != nil || string(p) != "hello" {
				t.Fatalf("%q, %v", p, err)
			}
			return client, <-conns
		}
		client, _ := hello()
		if _, err := client.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := closed.wait(t); err != errOfTheProgram {
			t.Errorf("after an error of Data: %v", err)
		}
		if p, err := io.ReadAll(client); len(p) > 0 || err != nil {
			t.Errorf("the client reads %q, %v", p, err)
		}

		client, conn := hello()
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		conn.Close()
		if err := closed.wait(t); err != net.ErrClosed {
			t.Errorf("after Close: %v", err)
		}
		if p, err := io.ReadAll(client); len(p) > 0 || err != nil {
			t.Errorf("the client reads %q, %v", p, err)
		}
		done := make(chan struct{})
		if err := conn.Do(func() { close(done) }); err != nil {
			t.Error(err)
		}
		<-done
		if _, err := conn.Write([]byte("late")); err == nil {
			t.Error("a closed connection takes a write")
		}

		client, _ = hello()
		s.end()
		if err := closed.wait(t); !errors.Is(err, aio.ErrWatcherClosed) {
			t.Errorf("after the server's end: %v", err)
		}
		if len(closed) > 0 {
			t.Errorf("%d more calls of Closed", len(closed))
		}
		checkEnded(t, client)
		if err := conn.Do(func() {}); err != aio.ErrWatcherClosed {
			t.Errorf("Do after the end returns %v", err)
		}
	})
}

func TestErrorOfOpen(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		closed := make(closings, 1)
		h := &aio.ConnHandler[struct{}]{
			TLS:    config,
			Open:   func(*aio.Conn[struct{}]) error { return errOfTheProgram },
			Data:   func(*aio.Conn[struct{}], []byte) error { t.Error("Data after that"); return nil },
			Closed: func(_ *aio.Conn[struct{}], reason error) { closed <- reason },
		}
		s := serveConns(t, h, aio.Server{Options: o})
		client := s.dial()
		if err := closed.wait(t); err != errOfTheProgram {
			t.Error(err)
		}
		checkEnded(t, client)
		s.end()
	})
}

func TestIdleTimeout(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		for timeout := 50 * time.Millisecond; ; timeout *= 2 {
			h, closed := echoHandler(t, config, false)
			h.IdleTimeout = timeout
			h.Refused = func(_ net.Addr, err error) { closed <- err } // it may be over in the handshake
			s := serveConns(t, h, aio.Server{Options: o})
			opened := time.Now()
			client, err := s.tryDial()
			began := time.Now()
			if err == nil {
				err = tryConverse(client, 100)
			}
			// On a busy machine the time may be over before the answer.
			late := err != nil && time.Since(opened) > timeout/2
			if err != nil && !late {
				t.Error(err)
			}
			if err := closed.wait(t); !timedOut(err, "the peer was silent for ") && !timedOut(err, "the TLS handshake has been under way for ") {
				t.Errorf("the reason is %v", err)
			}
			if took := time.Since(began); err == nil && took < timeout/2 {
				t.Errorf("closed after %v", took)
			}
			checkEnded(t, client)
			s.end()
			if !late {
				break
			}
		}
	})
}

// A connection has an idle timeout of its own as soon as the program knows it.
func TestSetIdleTimeout(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		closed := make(closings, 1)
		s := serveConns(t, &aio.ConnHandler[int]{
			TLS:         config,
			IdleTimeout: time.Hour,
			Data: func(c *aio.Conn[int], p []byte) error {
				c.SetIdleTimeout(time.Duration(p[0]) * 20 * time.Millisecond)
				_, err := c.Write(p)
				return err
			},
			Closed: func(_ *aio.Conn[int], reason error) { closed <- reason },
		}, aio.Server{Options: o})
		client := s.dial()
		// Over TLS a read may be under way since before the first answer.
		for _, p := range []byte{0, 1} {
			if _, err := client.Write([]byte{p}); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(client, []byte{p}); err != nil {
				t.Fatal(err)
			}
		}
		if err := closed.wait(t); !timedOut(err, "the peer was silent for 20ms") {
			t.Errorf("the reason is %v", err)
		}
		checkEnded(t, client)
		s.end()
	})
}

// A client that sends and does not read is not read from: what it has sent stays in the
// kernel, and what is held for it is bounded. It loses nothing.
func TestClientThatDoesNotReadHoldsUpItselfOnly(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		const message = 32 << 20
		h, closed := echoHandler(t, config, false)
		s := serveConns(t, h, aio.Server{Options: o})
		slow, quick := s.dial(), s.dial()
		sent := make(chan error, 1)
		var wrote atomic.Int64
		go func() {
			p := make([]byte, 64<<10)
			for range message / len(p) {
				n, err := slow.Write(p)
				wrote.Add(int64(n))
				if err != nil {
					sent <- err
					return
				}
			}
			sent <- nil
		}()
		// Until the slow one is held up, which is when it has not got on during a round.
		for before := int64(-1); before != wrote.Load(); {
			before = wrote.Load()
			for range 20 {
				converse(t, quick, 10_000)
			}
		}
		if got := wrote.Load(); got == message {
			t.Error("a client that does not read has sent everything")
		}
		if held := s.memory.Stats().OutBytes; held > 2<<20 {
			t.Errorf("%d bytes are held", held)
		}
		if n, err := io.CopyN(io.Discard, slow, message); n != message || err != nil {
			t.Errorf("%d bytes come back, %v", n, err)
		}
		if err := <-sent; err != nil {
			t.Error(err)
		}
		for _, c := range []net.Conn{slow, quick} {
			c.Close()
			closed.wait(t)
		}
		s.end()
	})
}

func TestWriteTimeout(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		for timeout := 50 * time.Millisecond; ; timeout *= 2 {
			h, closed := echoHandler(t, config, false)
			h.WriteTimeout = timeout
			h.Refused = func(_ net.Addr, err error) { closed <- err }
			s := serveConns(t, h, aio.Server{Options: o})
			began := time.Now()
			client, err := s.tryDial()
			// On a busy machine a write of the handshake may be late.
			late := err != nil && time.Since(began) >= timeout
			if err != nil && !late {
				t.Error(err)
			}
			go func() {
				p := make([]byte, 64<<10)
				for {
					if _, err := client.Write(p); err != nil {
						return
					}
				}
			}()
			if err := closed.wait(t); !timedOut(err, " bytes of memory have waited for the peer for ") {
				t.Errorf("the reason is %v", err)
			}
			client.Close()
			s.end()
			if !late {
				break
			}
		}
	})
}

// What was written before Close, or before an error, goes out; a peer that does not
// take it is given up.
func TestCloseWritesWhatWaits(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		const size = 8 << 20
		closed := make(closings, 2)
		serve := func(timeout time.Duration) *connServer {
			return serveConns(t, &aio.ConnHandler[struct{}]{
				TLS:          config,
				WriteTimeout: timeout,
				Data: func(c *aio.Conn[struct{}], p []byte) error {
					if n, err := c.Write(make([]byte, size)); n != size || err != nil {
						t.Errorf("%d bytes written, %v", n, err)
					}
					if p[0] == 'c' {
						return c.Close()
					}
					return errOfTheProgram
				},
				Closed: func(_ *aio.Conn[struct{}], reason error) { closed <- reason },
			}, aio.Server{Options: o})
		}
		s := serve(eventTimeout)
		for _, c := range []struct {
			say  string
			want error
		}{{"c", net.ErrClosed}, {"e", errOfTheProgram}} {
			client := s.dial()
			if _, err := client.Write([]byte(c.say)); err != nil {
				t.Fatal(err)
			}
			if p, err := io.ReadAll(client); len(p) != size || err != nil {
				t.Errorf("the client reads %d bytes, %v", len(p), err)
			}
			if err := closed.wait(t); err != c.want {
				t.Errorf("the reason is %v", err)
			}
		}
		s.end()
		s = serve(100 * time.Millisecond)
		stuck := s.dial()
		if _, err := stuck.Write([]byte("c")); err != nil {
			t.Fatal(err)
		}
		if err := closed.wait(t); err != net.ErrClosed {
			t.Errorf("the reason is %v", err)
		}
		s.end()
	})
}

func TestQueueLimitOfConns(t *testing.T) {
	for _, kind := range []string{"plain", "tls"} {
		t.Run(kind, func(t *testing.T) {
			closed := make(closings, 1)
			conns := make(chan *aio.Conn[int], 1)
			h := &aio.ConnHandler[int]{
				Open:   func(c *aio.Conn[int]) error { conns <- c; return nil },
				Data:   func(*aio.Conn[int], []byte) error { return nil },
				Closed: func(_ *aio.Conn[int], reason error) { closed <- reason },
			}
			if kind == "tls" {
				h.TLS = testcert.Server(t)
			}
			s := serveConns(t, h, aio.Server{Options: aio.Options{QueueLimit: 1 << 20, QueuePolicy: aio.QueueClose}})
			client := s.dial()
			conn := <-conns
			p := make([]byte, 64<<10)
			var err error
			for range 1000 {
				if _, err = conn.Write(p); err != nil {
					break
				}
			}
			if !errors.Is(err, aio.ErrQueueFull) {
				t.Errorf("Write returns %v", err)
			}
			if reason := closed.wait(t); !errors.Is(reason, aio.ErrQueueFull) {
				t.Errorf("the reason is %v", reason)
			}
			client.Close()
			s.end()
		})
	}
}

// The reason is the same where the queue is full before the first read is submitted.
func TestQueueThatIsFullInOpen(t *testing.T) {
	closed := make(closings, 1)
	h := &aio.ConnHandler[int]{
		Open: func(c *aio.Conn[int]) error {
			for range 1000 {
				if _, err := c.Write(make([]byte, 64<<10)); err != nil {
					return nil
				}
			}
			return errors.New("everything was written")
		},
		Data:   func(*aio.Conn[int], []byte) error { return nil },
		Closed: func(_ *aio.Conn[int], reason error) { closed <- reason },
	}
	s := serveConns(t, h, aio.Server{Options: aio.Options{QueueLimit: 1 << 20, QueuePolicy: aio.QueueClose}})
	if client, err := net.Dial(s.network, s.addr); err == nil { // it may be reset before it has the connection
		defer client.Close()
	}
	if reason := closed.wait(t); !errors.Is(reason, aio.ErrQueueFull) {
		t.Errorf("the reason is %v", reason)
	}
	s.end()
}

func TestConnHandlersThatCannotServe(t *testing.T) {
	data := func(*aio.Conn[int], []byte) error { return nil }
	buf := func(*aio.Conn[int], mem.Buf) error { return nil }
	for _, h := range []*aio.ConnHandler[int]{{}, {Data: data, Buf: buf}, {Data: data, IdleTimeout: -1}, {Data: data, Handshakes: -1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v serves", h)
				}
			}()
			_ = aio.Serve(t.Context(), listenOn(t, 1), aio.Options{}, h)
		}()
	}
}

// timedOut reports whether a limit has closed a connection, and the one that the text is of.
func timedOut(err error, text string) bool {
	return errors.Is(err, aio.ErrDeadline) && strings.Contains(err.Error(), text)
}
