package aio_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/internal/testcert"
)

// When the server ends, a client gets all that was written and the end of the stream.
// Closed is called for each connection, also for those that are paused, half closed or in
// their handshake.
func TestEndOfTheServer(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		const size = 4 << 20
		closed, refused := make(closings, 10), make(closings, 10)
		var opened, begun atomic.Int32
		ready := make(chan struct{}, 10)
		if config != nil {
			config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { begun.Add(1); return nil, nil }
		}
		h := &aio.ConnHandler[int]{
			TLS: config,
			Open: func(c *aio.Conn[int]) error {
				c.State = int(opened.Add(1))
				return nil
			},
			Data: func(c *aio.Conn[int], p []byte) error {
				switch p[0] {
				case 'p':
					c.Pause()
				case 'w':
					if _, err := c.Write(make([]byte, size)); err != nil {
						t.Error(err)
					}
				}
				ready <- struct{}{}
				return nil
			},
			Ended:   func(*aio.Conn[int]) error { ready <- struct{}{}; return nil },
			Closed:  func(_ *aio.Conn[int], reason error) { closed <- reason },
			Refused: func(_ net.Addr, reason error) { refused <- reason },
		}
		s := serveConns(t, h, aio.Server{Options: o, Watchers: 2, Grace: atMost})
		say := func(what string) net.Conn {
			c := s.dial()
			if _, err := io.WriteString(c, what); err != nil {
				t.Fatal(err)
			}
			<-ready
			return c
		}
		quiet, paused, writes, half := say("q"), say("p"), say("w"), say("h")
		if err := half.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		<-ready
		var shaking net.Conn
		if config != nil {
			shaking = s.raw()
			go tls.Client(silenced{shaking}, s.tls).Handshake()
			yieldUntil(t, "its handshake to begin, after the others'", func() bool { return begun.Load() == 5 })
		}
		s.stop()
		for name, c := range map[string]struct {
			conn net.Conn
			want int64
		}{"quiet": {quiet, 0}, "paused": {paused, 0}, "writes": {writes, size}, "half closed": {half, 0}} {
			if n, err := io.Copy(io.Discard, c.conn); n != c.want || err != nil {
				t.Errorf("%s: the client reads %d bytes of %d, %v", name, n, c.want, err)
			}
			c.conn.Close()
		}
		for range 4 {
			if err := closed.wait(t); !errors.Is(err, aio.ErrWatcherClosed) {
				t.Errorf("Closed is called with %v", err)
			}
		}
		if shaking != nil {
			if err := refused.wait(t); !errors.Is(err, aio.ErrWatcherClosed) {
				t.Errorf("Refused is called with %v", err)
			}
		}
		s.end()
		if len(closed)+len(refused) > 0 {
			t.Errorf("%d more calls of Closed, %d of Refused", len(closed), len(refused))
		}
	})
}

// ownType is a connection of a type that no driver knows.
type ownType struct {
	net.Conn
	closed chan struct{}
}

func (w *ownType) Close() error {
	defer func() {
		select {
		case w.closed <- struct{}{}:
		default:
		}
	}()
	return w.Conn.Close()
}

// ownTypes is a listener whose connections are ownType values.
type ownTypes struct {
	net.Listener
	closed chan struct{}
}

func (l ownTypes) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &ownType{c, l.closed}, nil
}

// A server on Std closes connections of any type when it ends.
func TestEndOfTheServerClosesConnectionsOfAnyType(t *testing.T) {
	for _, say := range []string{"p", "q"} { // paused, or read from
		opened := make(chan struct{}, 1)
		h := &aio.ConnHandler[int]{
			Data: func(c *aio.Conn[int], p []byte) error {
				if p[0] == 'p' {
					c.Pause()
				}
				opened <- struct{}{}
				return nil
			},
		}
		l := ownTypes{listenOn(t, 1)[0], make(chan struct{}, 1)}
		s := serveConns(t, h, aio.Server{Options: aio.Options{Driver: aio.Std}}, l)
		client := s.dial()
		if _, err := io.WriteString(client, say); err != nil {
			t.Fatal(err)
		}
		<-opened
		s.end()
		select {
		case <-l.closed:
		case <-time.After(atMost):
			t.Errorf("%s: the connection is not closed", say)
		}
		checkEnded(t, client)
	}
}

// After the peer has ended its side the connection can be written to; after CloseWrite
// it can be read from. What was written before CloseWrite comes before the end.
func TestHalfClose(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		const size = 4 << 20
		closed := make(closings, 2)
		heard := make(chan string, 2)
		h := &aio.ConnHandler[string]{
			TLS: config,
			Data: func(c *aio.Conn[string], p []byte) error {
				if c.State += string(p); c.State == "first" {
					_, err := c.Write(make([]byte, size))
					return errors.Join(err, c.CloseWrite())
				}
				return nil
			},
			Ended: func(c *aio.Conn[string]) error {
				heard <- c.State
				if c.State != "then" {
					return c.Close()
				}
				_, err := c.Write(make([]byte, size))
				return errors.Join(err, c.Close())
			},
			Closed: func(_ *aio.Conn[string], reason error) { closed <- reason },
		}
		s := serveConns(t, h, aio.Server{Options: o})
		for _, c := range []struct{ first, then string }{{"first", " and then"}, {"", "then"}} {
			client := s.dial()
			say := func(what string) {
				if _, err := io.WriteString(client, what); err != nil {
					t.Error(err)
				}
			}
			hear := func() {
				if n, err := io.Copy(io.Discard, client); n != size || err != nil {
					t.Errorf("%q: the client reads %d bytes, %v", c.first, n, err)
				}
			}
			if c.first != "" {
				say(c.first)
				hear()
			}
			say(c.then)
			if err := client.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if got := <-heard; got != c.first+c.then {
				t.Errorf("the server hears %q", got)
			}
			if c.first == "" {
				hear()
			}
			if err := closed.wait(t); err != net.ErrClosed {
				t.Errorf("the reason is %v", err)
			}
			client.Close()
		}
		s.end()
	})
}

// A connection that both sides have ended serves nothing: it is closed with io.EOF, when
// all is written, in whichever order they have ended and also when CloseWrite is called in
// Ended. One that is never closed keeps a descriptor for ever.
func TestConnsThatBothSidesHaveEndedAreClosed(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		const size = 4 << 20
		closed, ended := make(closings, 1), make(chan *aio.Conn[string], 1)
		answer := func(c *aio.Conn[string]) error {
			_, err := c.Write(make([]byte, size))
			return errors.Join(err, c.CloseWrite())
		}
		h := &aio.ConnHandler[string]{
			TLS: config,
			Data: func(c *aio.Conn[string], p []byte) error {
				if c.State += string(p); c.State == "before" {
					return answer(c)
				}
				return nil
			},
			Ended: func(c *aio.Conn[string]) error {
				if c.State == "within" {
					return answer(c)
				}
				ended <- c
				return nil
			},
			Closed: func(_ *aio.Conn[string], reason error) { closed <- reason },
		}
		s := serveConns(t, h, aio.Server{Options: o})
		for _, when := range []string{"before", "within", "after"} {
			client := s.dial()
			if _, err := io.WriteString(client, when); err != nil {
				t.Fatal(err)
			}
			hear := func() {
				if n, err := io.Copy(io.Discard, client); n != size || err != nil {
					t.Errorf("%s: the client reads %d bytes, %v", when, n, err)
				}
			}
			if when == "before" {
				hear()
			}
			if err := client.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if when != "within" {
				if c := <-ended; when == "after" {
					if err := answer(c); err != nil { // of another goroutine
						t.Error(err)
					}
				}
			}
			if when != "before" {
				hear()
			}
			if err := closed.wait(t); err != io.EOF {
				t.Errorf("%s: the reason is %v", when, err)
			}
			client.Close()
		}
		s.end()
	})
}

// An error of Ended closes the connection, and an io.EOF of Data is not the peer's end.
func TestErrorsOfEnded(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		closed := make(closings, 2)
		h := &aio.ConnHandler[int]{
			TLS:    config,
			Data:   func(*aio.Conn[int], []byte) error { return io.EOF },
			Ended:  func(*aio.Conn[int]) error { return errOfTheProgram },
			Closed: func(_ *aio.Conn[int], reason error) { closed <- reason },
		}
		s := serveConns(t, h, aio.Server{Options: o})
		client := s.dial()
		if err := client.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if err := closed.wait(t); err != errOfTheProgram {
			t.Errorf("the reason is %v", err)
		}
		client = s.dial()
		if _, err := client.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := closed.wait(t); err != io.EOF {
			t.Errorf("the reason is %v", err)
		}
		s.end()
	})
}

// CloseWrite of a connection whose type cannot is no silent success.
func TestCloseWriteUnsupported(t *testing.T) {
	closed := make(closings, 1)
	h := &aio.ConnHandler[int]{
		Open:   func(c *aio.Conn[int]) error { return c.CloseWrite() },
		Data:   func(*aio.Conn[int], []byte) error { return nil },
		Closed: func(_ *aio.Conn[int], reason error) { closed <- reason },
	}
	l := ownTypes{listenOn(t, 1)[0], make(chan struct{}, 1)}
	s := serveConns(t, h, aio.Server{Options: aio.Options{Driver: aio.Std}}, l)
	client := s.dial()
	if err := closed.wait(t); !errors.Is(err, aio.ErrUnsupported) {
		t.Errorf("the reason is %v", err)
	}
	checkEnded(t, client)
	s.end()
}

// Calls on a connection that is closed, or whose server has ended, have no effect on
// others, and what was transferred is closed.
func TestCallsAfterTheEnd(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		closed := make(closings, 4)
		conns := make(chan *aio.Conn[int], 4)
		h := &aio.ConnHandler[int]{
			TLS:    config,
			Open:   func(c *aio.Conn[int]) error { conns <- c; return nil },
			Data:   func(c *aio.Conn[int], p []byte) error { _, err := c.Write(p); return err },
			Closed: func(_ *aio.Conn[int], reason error) { closed <- reason },
		}
		s := serveConns(t, h, aio.Server{Options: o})
		dial := func() (net.Conn, *aio.Conn[int]) {
			client := s.dial()
			return client, <-conns
		}
		firstClient, first := dial()
		secondClient, second := dial()
		_ = second.Close()
		if err := closed.wait(t); err != net.ErrClosed {
			t.Errorf("the reason is %v", err)
		}
		checkEnded(t, secondClient)
		near, far := tcpPair(t)
		done := make(chan struct{})
		if err := second.Do(func() {
			defer close(done)
			second.Pause()
			second.Resume()
			first.PaceBy(second) // it is paced by itself then
			second.PaceBy(first)
			second.Attach(near, 1)
		}); err != nil {
			t.Error(err)
		}
		<-done
		if err := second.Close(); err != nil {
			t.Error(err)
		}
		if n := second.Queued(); n != 0 {
			t.Errorf("%d bytes are queued", n)
		}
		converse(t, firstClient, 100_000)
		converse(t, far, 100_000) // attached to the loop that goes on
		s.end()
		for range 2 {
			if err := closed.wait(t); !errors.Is(err, aio.ErrWatcherClosed) {
				t.Errorf("the reason is %v", err)
			}
		}
		checkEnded(t, far)
		if _, err := first.Write([]byte("late")); err == nil {
			t.Error("a write after the end")
		}
		_ = first.CloseWrite()
		near, far = tcpPair(t)
		first.Attach(near, 2) // no callback runs any more
		if err := closed.wait(t); !errors.Is(err, aio.ErrWatcherClosed) {
			t.Errorf("the reason is %v", err)
		}
		checkEnded(t, far)
	})
}

// tcpPair returns the ends of a connection.
func tcpPair(t *testing.T) (near, far net.Conn) {
	t.Helper()
	l := listenOn(t, 1)[0]
	far = dialTo(t, "tcp", l.Addr().String())
	near, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close() })
	return near, far
}

// Peers that begin a handshake and fall silent do not keep others out.
func TestStalledHandshakesGiveWay(t *testing.T) {
	const stalled = 1024
	if limit := descriptorLimit(t); limit < 2*stalled+200 {
		t.Fatalf("%d descriptors are too few", limit)
	}
	refused := make(closings, 2*stalled)
	var begun atomic.Int32
	config := testcert.Server(t)
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { begun.Add(1); return nil, nil }
	h := &aio.ConnHandler[int]{
		TLS:              config,
		Handshakes:       stalled,
		HandshakeTimeout: time.Hour,
		Data:             func(c *aio.Conn[int], p []byte) error { _, err := c.Write(p); return err },
		Refused:          func(_ net.Addr, err error) { refused <- err },
	}
	s := serveConns(t, h, aio.Server{})
	hello := clientHello(t, s.tls)
	for range stalled {
		if _, err := s.raw().Write(hello); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(atMost); begun.Load() < stalled; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d handshakes are under way", begun.Load())
		}
	}
	began := time.Now()
	converse(t, s.dial(), 100)
	if took := time.Since(began); took > atMost {
		t.Errorf("a client waits %v for its handshake", took)
	}
	if err := refused.wait(t); !errors.Is(err, aio.ErrDeadline) || len(refused) > 0 {
		t.Errorf("refused because of %v, and %d more", err, len(refused))
	}
	s.end()
}

// clientHello returns what a client says first.
func clientHello(t *testing.T, config *tls.Config) []byte {
	t.Helper()
	near, far := net.Pipe()
	defer far.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go tls.Client(near, config).HandshakeContext(ctx)
	p := make([]byte, 16<<10)
	n, err := far.Read(p)
	if err != nil {
		t.Fatal(err)
	}
	return p[:n]
}

// Close of a connection while the server is ending does not cut off what was written.
func TestCloseWhileTheServerEnds(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		const size = 8 << 20
		closed := make(closings, 2)
		opened, wrote := make(chan struct{}, 2), make(chan struct{})
		var writes *aio.Conn[int] // of the watcher's goroutine
		h := &aio.ConnHandler[int]{
			TLS:  config,
			Open: func(*aio.Conn[int]) error { opened <- struct{}{}; return nil },
			Data: func(c *aio.Conn[int], _ []byte) error {
				c.Pause()
				writes = c
				_, err := c.Write(make([]byte, size))
				close(wrote)
				return err
			},
			Closed: func(c *aio.Conn[int], reason error) {
				if c != writes {
					_ = writes.Close()
				}
				closed <- reason
			},
		}
		s := serveConns(t, h, aio.Server{Options: o, Grace: atMost})
		s.dial()
		<-opened // over TLS the client is done first
		client := s.dial()
		if _, err := client.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		<-wrote
		s.stop()
		closed.wait(t) // the other one, whose read Shutdown has ended
		closed.wait(t)
		if n, err := io.Copy(io.Discard, client); n != size || err != nil {
			t.Errorf("the client reads %d bytes of %d, %v", n, size, err)
		}
		s.end()
	})
}
