package sluice_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// waitConn is what the tests below need of a connection or file.
type waitConn interface {
	io.ReadWriteCloser
	SetReadDeadline(time.Time) error
}

// wrappedConn is a connection as middleware hands it on.
type wrappedConn struct{ net.Conn }

// hiddenConn is one that does not embed what it wraps.
type hiddenConn struct {
	conn *net.TCPConn
}

func (h *hiddenConn) Read(p []byte) (int, error)        { return h.conn.Read(p) }
func (h *hiddenConn) Write(p []byte) (int, error)       { return h.conn.Write(p) }
func (h *hiddenConn) Close() error                      { return h.conn.Close() }
func (h *hiddenConn) SetReadDeadline(t time.Time) error { return h.conn.SetReadDeadline(t) }

// waitPair returns both ends of a connection of a kind.
func waitPair(t *testing.T, kind string) (near, far waitConn) {
	switch kind {
	case "wrapped":
		a, b := tcpPair(t)
		return wrappedConn{a}, b
	case "hidden":
		a, b := tcpPair(t)
		return &hiddenConn{a}, b
	case "file":
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = r.Close(), w.Close() })
		return r, w
	case "tls":
		h := httptest.NewUnstartedServer(nil)
		h.StartTLS() // for its certificate
		config := h.TLS.Clone()
		h.Close()
		config.NextProtos = nil
		a, b := tcpPair(t)
		server, client := tls.Server(a, config), tls.Client(b, &tls.Config{InsecureSkipVerify: true})
		result := make(chan error, 1)
		go func() { result <- client.Handshake() }()
		if err := errors.Join(server.Handshake(), <-result); err != nil {
			t.Fatal(err)
		}
		return server, client
	}
	a, b := streamPair(t, kind)
	return a, b
}

var waitKinds = []string{"tcp", "unix", "pipe", "tls", "file", "wrapped", "hidden"}

// TestEveryEndOfAWaitForMemoryIsSeen over every kind of connection, with and
// without half a frame in hand, and the reader can be used on.
func TestEveryEndOfAWaitForMemoryIsSeen(t *testing.T) {
	ends := []struct {
		name  string
		end   func(c waitConn) error
		is    []error
		after func(t *testing.T, r *sluice.BufReader, c waitConn)
		lost  bool // the connection is
	}{
		{
			name: "SetReadDeadline",
			end:  func(c waitConn) error { return c.SetReadDeadline(time.Unix(1, 0)) },
			is:   []error{os.ErrDeadlineExceeded},
			after: func(t *testing.T, _ *sluice.BufReader, c waitConn) {
				if err := c.SetReadDeadline(time.Time{}); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "Close",
			end:  func(c waitConn) error { return c.Close() },
			is:   []error{net.ErrClosed, os.ErrClosed, io.ErrClosedPipe},
			lost: true,
		},
		{name: "SetContext", is: []error{errCause}},
		{name: "SetTimeout", is: []error{os.ErrDeadlineExceeded}},
	}
	for _, kind := range waitKinds {
		for _, e := range ends {
			for _, half := range []string{"", "half of "} {
				t.Run(kind+"/"+e.name+"/"+half, func(t *testing.T) {
					const rest = "a frame that is long enough"
					a := watched(t, 1<<20)
					near, far := waitPair(t, kind)
					t.Cleanup(func() { _ = far.Close() })
					r := readerOf(t, a, 0, near)
					if half != "" {
						goTest(t, func() { _, _ = far.Write([]byte(half)) })
						if _, err := r.Peek(len(half)); err != nil {
							t.Fatal(err)
						}
					}
					var all []mem.Buf
					for size := 512 << 10; size >= 256; {
						if b, err := a.TryGet(size); err == nil {
							all = append(all, b)
						} else {
							size /= 2
						}
					}
					free := func() {
						for i := range all {
							all[i].Release()
						}
						all = nil
					}
					defer free()
					start := time.Now()
					ctx, cancel := context.WithCancelCause(t.Context())
					defer cancel(nil)
					switch e.name {
					case "SetContext":
						r.SetContext(ctx)
					case "SetTimeout":
						if err := r.SetTimeout(5 * time.Millisecond); err != nil {
							t.Fatal(err)
						}
					}
					goTest(t, func() { _, _ = far.Write([]byte(rest)) })
					// With half a frame its block may hold some more: this is longer.
					need := len(half) + len(rest)
					if half != "" {
						need = 64 << 10
					}
					var err error
					done := make(chan struct{})
					go func() {
						defer close(done)
						_, err = r.Next(need)
					}()
					if e.name != "SetTimeout" {
						eventually(t, "a reader that waits for memory", func() bool {
							return a.Stats().Budget.Waiting == 1
						})
						start = time.Now()
					}
					switch {
					case e.name == "SetContext":
						cancel(errCause)
					case e.end != nil:
						// The Close of TLS writes.
						if kind == "tls" && e.name == "Close" {
							goTest(t, func() { _, _ = io.Copy(io.Discard, far) })
						}
						if err := e.end(near); err != nil {
							t.Fatal(err)
						}
					}
					within(t, "the wait", func() { <-done })
					t.Logf("%v after %v", err, time.Since(start))
					matched := false
					for _, is := range e.is {
						matched = matched || errors.Is(err, is)
					}
					if !matched {
						t.Errorf("the error is %v", err)
					}
					if n := a.Stats().Budget.Waiting; n != 0 {
						t.Errorf("%d wait for memory after it", n)
					}
					free()
					if e.lost {
						// What had come before is still there.
						if p, err := r.Next(len(half)); err != nil || string(p) != half {
							t.Errorf("%q, %v", p, err)
						}
						_, err := r.Next(1000)
						matched := false
						for _, is := range e.is {
							matched = matched || errors.Is(err, is)
						}
						if !matched {
							t.Errorf("the next read: %v", err)
						}
						return
					}
					switch e.name {
					case "SetContext":
						r.SetContext(context.Background())
					case "SetTimeout":
						if err := r.SetTimeout(0); err != nil {
							t.Fatal(err)
						}
					default:
						e.after(t, r, near)
					}
					if p, err := r.Next(len(half) + len(rest)); err != nil || string(p) != half+rest {
						t.Errorf("afterwards: %q, %v", p, err)
					}
				})
			}
		}
	}
}

// isClosed reports whether err is that of a connection that was closed here.
func isClosed(err error) bool {
	return errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
}
