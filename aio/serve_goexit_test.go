package aio_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/internal/testcert"
	"github.com/sluice-go/sluice/mem"
)

// isGoexit says that err is the reason of a connection whose callback has ended its goroutine.
func isGoexit(err error) bool { return err != nil && strings.Contains(err.Error(), "runtime.Goexit") }

// goexits returns a ConnHandler that echoes. Its callbacks call Goexit: Data at some words of a client,
// and the others always.
func goexits(reasons closings) *aio.ConnHandler[struct{}] {
	answer := func(c *aio.Conn[struct{}], p []byte) error {
		var err error
		switch string(p) {
		case "data":
			runtime.Goexit()
		case "written":
			_, _ = c.Write([]byte("answer"))
			runtime.Goexit()
		case "do":
			err = c.Do(runtime.Goexit)
		case "sent":
			err = c.WhenSent(runtime.Goexit)
		case "resume":
			c.Pause()
			err = c.Do(func() {
				c.Resume()
				runtime.Goexit()
			})
		default:
		}
		if err == nil {
			_, err = c.Write(p)
		}
		return err
	}
	return &aio.ConnHandler[struct{}]{
		Data: answer,
		Ended: func(*aio.Conn[struct{}]) error {
			runtime.Goexit()
			return nil
		},
		Closed: func(_ *aio.Conn[struct{}], err error) {
			reasons <- err
			runtime.Goexit() // as FailNow in a test
		},
		Refused: func(net.Addr, error) { runtime.Goexit() },
	}
}

// A callback that ends its goroutine ends its connection, as in package net/http, and not the
// watcher, which went on without a goroutine.
func TestACallbackThatEndsItsGoroutineEndsItsConnectionAlone(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		reasons := make(closings, 16)
		h := goexits(reasons)
		h.TLS = config
		heard := make(chan error, 64)
		s := serveConns(t, h, aio.Server{Options: o, OnError: func(err error) {
			heard <- err
			runtime.Goexit()
		}})
		bystander := s.dial()
		for _, word := range []string{"data", "written"} {
			c := s.dial()
			sayAndHear(t, c, "hello")
			if _, err := c.Write([]byte(word)); err != nil {
				t.Fatal(err)
			}
			want := ""
			if word == "written" {
				want = "answer"
			}
			if got, err := io.ReadAll(c); string(got) != want || err != nil {
				t.Errorf("%s: the client gets %q, %v, want %q and the end", word, got, err, want)
			}
			if err := reasons.wait(t); !isGoexit(err) {
				t.Errorf("%s: Closed is called with %v", word, err)
			}
			if err := <-heard; !isGoexit(err) {
				t.Errorf("%s: OnError is called with %v", word, err)
			}
			sayAndHear(t, bystander, "still there")
		}
		for _, word := range []string{"do", "sent", "resume"} { // in no callback of a connection
			sayAndHear(t, bystander, word)
			sayAndHear(t, bystander, "still there")
		}
		half, ok := bystander.(interface{ CloseWrite() error })
		if !ok {
			t.Fatalf("%T", bystander)
		}
		if err := half.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		checkEnded(t, bystander)
		if err := reasons.wait(t); !isGoexit(err) {
			t.Errorf("Ended: Closed is called with %v", err)
		}
		if config != nil {
			c := s.raw()
			if _, err := c.Write([]byte("no handshake")); err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, c)
		}
		for range 3 {
			sayAndHear(t, s.dial(), "to be ended by the server")
		}
		s.end()
		for range 3 {
			if err := reasons.wait(t); !errors.Is(err, aio.ErrWatcherClosed) {
				t.Errorf("Closed is called with %v at the end", err)
			}
		}
	})
}

func TestAnOpenThatEndsItsGoroutine(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		reasons := make(closings, 1)
		var opened atomic.Int32
		h := &aio.ConnHandler[struct{}]{
			TLS: config,
			Open: func(*aio.Conn[struct{}]) error {
				if opened.Add(1) == 1 {
					runtime.Goexit()
				}
				return nil
			},
			Buf: func(c *aio.Conn[struct{}], b mem.Buf) error {
				if string(b.Bytes()) == "buf" {
					b.Release()
					runtime.Goexit()
				}
				return c.WriteBuf(b)
			},
			Closed: func(_ *aio.Conn[struct{}], err error) { reasons <- err },
		}
		s := serveConns(t, h, aio.Server{Options: o})
		checkEnded(t, s.dial())
		if err := reasons.wait(t); !isGoexit(err) {
			t.Errorf("Closed is called with %v", err)
		}
		c := s.dial()
		sayAndHear(t, c, "the second")
		if _, err := c.Write([]byte("buf")); err != nil {
			t.Fatal(err)
		}
		checkEnded(t, c)
		if err := reasons.wait(t); !isGoexit(err) {
			t.Errorf("Closed is called with %v", err)
		}
		sayAndHear(t, s.dial(), "the third")
		s.end()
		<-reasons
	})
}

// The methods of a Handler are such callbacks too, and results behind the one that ends the goroutine
// are handed out.
func TestAHandlerThatEndsItsGoroutine(t *testing.T) {
	overBothDrivers(t, func(t *testing.T, d aio.Driver) {
		var e echoes
		var accepted atomic.Int32
		h := handler{
			accepted: func(w *aio.Watcher, conn net.Conn) {
				if accepted.Add(1)%2 == 1 {
					runtime.Goexit()
				}
				e.Accepted(w, conn)
			},
			completed: func(w *aio.Watcher, r *aio.OpResult) {
				if r.Operation == aio.OpRead && string(r.Buffer[:r.Size]) == "end" {
					runtime.Goexit()
				}
				e.Completed(w, r)
			},
		}
		watchers := make(chan *aio.Watcher, 1)
		s := serve(t, &aio.Server{Handler: h, Options: aio.Options{Driver: d}, Started: func(w *aio.Watcher, _ net.Listener) error {
			watchers <- w
			return nil
		}}, listenOn(t, 1))
		var clients []net.Conn
		for range 8 {
			checkEnded(t, dialTo(t, "tcp", s.addrs[0]))
			c := dialTo(t, "tcp", s.addrs[0])
			sayAndHear(t, c, "hello")
			clients = append(clients, c)
		}
		for i, c := range clients {
			if i%2 == 0 {
				if _, err := c.Write([]byte("end")); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i, c := range clients {
			if i%2 == 0 {
				checkEnded(t, c)
			} else {
				sayAndHear(t, c, "still there")
			}
		}
		if n := (<-watchers).Stats().Conns; n != 4 {
			t.Errorf("the watcher has %d connections, want 4", n)
		}
		s.stop()
		if err := s.wait(); err != nil {
			t.Error(err)
		}
	})
}

// A callback of crypto/tls is called in the goroutine of a handshake, which has a place.
func TestACallbackOfAHandshakeThatEndsItsGoroutine(t *testing.T) {
	config := testcert.Server(t)
	certificate := config.Certificates[0]
	config.Certificates = nil
	var called atomic.Int32
	config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if called.Add(1) < 4 {
			runtime.Goexit()
		}
		return &certificate, nil
	}
	refused := make(closings, 4)
	s := serveConns(t, &aio.ConnHandler[struct{}]{
		TLS: config, Handshakes: 1,
		Data:    func(c *aio.Conn[struct{}], p []byte) error { _, err := c.Write(p); return err },
		Refused: func(_ net.Addr, err error) { refused <- err },
	}, aio.Server{})
	for range 3 {
		if _, err := s.tryDial(); err == nil {
			t.Error("a handshake succeeds whose callback did not return")
		}
		if err := refused.wait(t); !isGoexit(err) {
			t.Errorf("Refused is called with %v", err)
		}
	}
	sayAndHear(t, s.dial(), "the place is free")
	s.end()
}

// Started is called in the goroutine of Serve, which leaves nothing behind when that ends.
func TestAStartedThatDoesNotReturn(t *testing.T) {
	overBothDrivers(t, func(t *testing.T, d aio.Driver) {
		for name, leave := range map[string]func(){"Goexit": runtime.Goexit, "panic": func() { panic("Started") }} {
			listeners := listenOn(t, 2)
			var watchers []*aio.Watcher
			over := make(chan any)
			go func() {
				defer func() { over <- recover() }()
				s := aio.Server{Handler: &echoes{}, Options: aio.Options{Driver: d}, Started: func(w *aio.Watcher, _ net.Listener) error {
					if watchers = append(watchers, w); len(watchers) == 2 {
						leave()
					}
					return nil
				}}
				_ = s.Serve(t.Context(), listeners)
			}()
			if p := <-over; (name == "panic") != (p == "Started") {
				t.Errorf("%s: recovered %v", name, p)
			}
			for i, w := range watchers {
				if err := w.Read(nil, new(net.TCPConn), nil); !errors.Is(err, aio.ErrWatcherClosed) {
					t.Errorf("%s: watcher %d is left: %v", name, i, err)
				}
				if err := listeners[i].Close(); !errors.Is(err, net.ErrClosed) {
					t.Errorf("%s: listener %d is left: %v", name, i, err)
				}
			}
		}
	})
}
