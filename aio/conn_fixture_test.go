package aio_test

import (
	"crypto/tls"
	"errors"
	"net"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/internal/testcert"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// connServer serves a ConnHandler, over TLS if it has a configuration.
type connServer struct {
	*served
	network, addr string
	tls           *tls.Config // of the clients, or nil
	memory        *mem.Allocator
}

// serveConns serves h until stop, on memory of its own, and dials nothing yet.
func serveConns[S any](t *testing.T, h *aio.ConnHandler[S], s aio.Server, listeners ...net.Listener) *connServer {
	t.Helper()
	r := &connServer{}
	if s.Options.Allocator == nil {
		s.Options.Allocator = mem.New(mem.Options{Name: t.Name(), Leak: mem.LeakTrace})
		sluicetest.NoLeaks(t, s.Options.Allocator)
	}
	r.memory = s.Options.Allocator
	if h.TLS != nil {
		r.tls = testcert.Client(t)
	}
	if len(listeners) == 0 {
		listeners = listenOn(t, 1)
	}
	r.network, r.addr = listeners[0].Addr().Network(), listeners[0].Addr().String()
	s.Handler = h
	r.served = serve(t, &s, listeners)
	if r.network == "unix" {
		r.addrs = nil
	}
	return r
}

// raw dials without TLS.
func (s *connServer) raw() net.Conn { return dialTo(s.t, s.network, s.addr) }

// dial dials, and has the handshake made.
func (s *connServer) dial() net.Conn {
	s.t.Helper()
	c, err := s.tryDial()
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// tryDial is dial where the server may end the handshake.
func (s *connServer) tryDial() (net.Conn, error) {
	s.t.Helper()
	c := s.raw()
	if s.tls == nil {
		return c, nil
	}
	secure := tls.Client(c, s.tls)
	return secure, secure.Handshake()
}

// end stops the server and waits for it.
func (s *connServer) end() {
	s.t.Helper()
	s.stop()
	if err := s.wait(); err != nil {
		s.t.Errorf("Serve returns %v", err)
	}
}

// closings collects what Closed is called with.
type closings chan error

func (c closings) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-c:
		return err
	case <-time.After(atMost):
		t.Fatal("Closed is not called")
		return nil
	}
}

// unixListener listens on a Unix socket.
func unixListener(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		if runtime.GOOS == "windows" {
			t.Skip(err) // old versions have no such sockets
		}
		t.Fatal(err)
	}
	return l
}

// eachKind runs a test over plain connections and over TLS, on each driver.
func eachKind(t *testing.T, f func(t *testing.T, config *tls.Config, o aio.Options)) {
	for _, d := range driversHere(t) {
		for _, kind := range []string{"plain", "tls"} {
			t.Run(d.String()+"/"+kind, func(t *testing.T) {
				var config *tls.Config
				if kind == "tls" {
					config = testcert.Server(t)
				}
				f(t, config, aio.Options{Driver: d})
			})
		}
	}
}

var errOfTheProgram = errors.New("the program's own")
