package aio_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/internal/loopback"
)

// atMost bounds every wait for something that has to happen.
const atMost = time.Minute

// served is a Server that runs.
type served struct {
	t     *testing.T
	addrs []string
	stop  context.CancelFunc
	ended chan error
}

func serve(t *testing.T, s *aio.Server, listeners []net.Listener) *served {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r := &served{t: t, stop: stop, ended: make(chan error, 1)}
	for _, l := range listeners {
		r.addrs = append(r.addrs, l.Addr().String())
	}
	go func() { r.ended <- s.Serve(ctx, listeners) }()
	t.Cleanup(func() { stop() })
	return r
}

// wait waits for the end of Serve, after which nothing of it may be left.
func (r *served) wait() error {
	r.t.Helper()
	select {
	case err := <-r.ended:
		for _, addr := range r.addrs {
			if c, err := net.DialTimeout("tcp", addr, atMost); err == nil {
				c.Close()
				r.t.Errorf("somebody still listens on %s", addr)
			}
		}
		left := serveStacks()
		for deadline := time.Now().Add(atMost); left != "" && time.Now().Before(deadline); left = serveStacks() {
			runtime.Gosched() // one that has said that it is done may not be gone yet
		}
		if left != "" {
			r.t.Errorf("goroutines are left:\n%s", left)
		}
		return err
	case <-time.After(atMost):
		r.t.Fatalf("Serve does not end:\n%s", serveStacks())
		return nil
	}
}

// serveStacks returns the stacks of goroutines that Serve has started.
func serveStacks() string {
	b := make([]byte, 1<<20)
	b = b[:runtime.Stack(b, true)]
	var found []string
	for g := range strings.SplitSeq(string(b), "\n\n") {
		if strings.Contains(g, "aio.(*serving)") || strings.Contains(g, "aio.(*Server)") {
			found = append(found, g)
		}
	}
	return strings.Join(found, "\n\n")
}

// ownAddress is where to listen: there are 28,000 ports for the clients of one address,
// and a port that was left may be another program's at once.
func ownAddress() string { return loopback.Host() + ":0" }

func listenOn(t *testing.T, n int) []net.Listener {
	t.Helper()
	var list []net.Listener
	for range n {
		l, err := net.Listen("tcp", ownAddress())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		list = append(list, l)
	}
	return list
}

func dialTo(t *testing.T, network, addr string) net.Conn {
	t.Helper()
	c, err := net.DialTimeout(network, addr, atMost)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(atMost)); err != nil {
		t.Fatal(err)
	}
	return c
}

// sayAndHear sends a message and checks that it comes back.
func sayAndHear(t *testing.T, c net.Conn, message string) {
	t.Helper()
	if _, err := c.Write([]byte(message)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(message))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != message {
		t.Fatalf("sent %q, got %q, %v", message, got, err)
	}
}

// ended checks that the other side has closed c.
func checkEnded(t *testing.T, c net.Conn) {
	t.Helper()
	n, err := c.Read(make([]byte, 1))
	var timeout net.Error
	if n != 0 || err == nil || errors.As(err, &timeout) && timeout.Timeout() {
		t.Errorf("the connection goes on: %d bytes, %v", n, err)
	}
}

// echoes is a handler that sends back what it receives, and counts.
type echoes struct{ accepted, read atomic.Int64 }

func (e *echoes) Accepted(w *aio.Watcher, conn net.Conn) {
	e.accepted.Add(1)
	if w.Read(nil, conn, make([]byte, 1024)) != nil {
		w.Free(conn)
	}
}

func (e *echoes) Completed(w *aio.Watcher, r *aio.OpResult) {
	var err error
	switch {
	case r.Error != nil:
		err = r.Error
	case r.Operation == aio.OpRead:
		e.read.Add(1)
		err = w.Write(nil, r.Conn, r.Buffer[:r.Size])
	default:
		err = w.Read(nil, r.Conn, r.Buffer[:cap(r.Buffer)])
	}
	if err != nil && !errors.Is(err, aio.ErrWatcherClosed) {
		w.Free(r.Conn)
	}
}

// handler makes a Handler of two functions.
type handler struct {
	accepted  func(w *aio.Watcher, conn net.Conn)
	completed func(w *aio.Watcher, r *aio.OpResult)
}

func (h handler) Accepted(w *aio.Watcher, conn net.Conn)    { h.accepted(w, conn) }
func (h handler) Completed(w *aio.Watcher, r *aio.OpResult) { h.completed(w, r) }

// overBothDrivers runs f with the driver of this system and with the one that
// is there on all.
func overBothDrivers(t *testing.T, f func(t *testing.T, d aio.Driver)) {
	for _, d := range []aio.Driver{aio.Auto, aio.Std} {
		t.Run(d.String(), func(t *testing.T) { f(t, d) })
	}
}

func TestServeRunsAWatcherOnEachListener(t *testing.T) {
	overBothDrivers(t, func(t *testing.T, d aio.Driver) {
		var h echoes
		watchers := make(map[*aio.Watcher]net.Listener)
		s := &aio.Server{Handler: &h, Options: aio.Options{Driver: d}, Started: func(w *aio.Watcher, l net.Listener) error {
			watchers[w] = l
			return nil
		}}
		r := serve(t, s, listenOn(t, 3))
		var clients []net.Conn
		for i := range 30 {
			c := dialTo(t, "tcp", r.addrs[i%3])
			sayAndHear(t, c, fmt.Sprintf("message %d", i))
			clients = append(clients, c)
		}
		if n := h.accepted.Load(); n != 30 {
			t.Errorf("%d connections were accepted", n)
		}
		if len(watchers) != 3 {
			t.Errorf("%d watchers for 3 listeners", len(watchers))
		}
		for w, l := range watchers {
			if n := w.Stats().Conns; n != 10 {
				t.Errorf("the watcher of %v holds %d connections", l.Addr(), n)
			}
		}
		r.stop()
		if err := r.wait(); err != nil {
			t.Errorf("an orderly end returns %v", err)
		}
		for _, c := range clients {
			checkEnded(t, c)
		}
		for w := range watchers {
			if _, err := w.WaitIO(); err != aio.ErrWatcherClosed {
				t.Errorf("a watcher is left open: %v", err)
			}
		}
	})
}

func TestServeOverUnixSockets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listeners, err := aio.Listen(t.Context(), "unix", path, 1)
	if err != nil {
		if runtime.GOOS == "windows" {
			t.Skip(err) // old versions have no such sockets
		}
		t.Fatal(err)
	}
	r := serve(t, &aio.Server{Handler: &echoes{}}, listeners)
	r.addrs = nil
	sayAndHear(t, dialTo(t, "unix", path), "by way of a file")
	r.stop()
	if err := r.wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the listener's file is left")
	}
}

func TestServeWritesWhatIsQueuedBeforeItEnds(t *testing.T) {
	overBothDrivers(t, func(t *testing.T, d aio.Driver) {
		message := bytes.Repeat([]byte("sixteen bytes ab"), 1<<20) // more than sockets hold
		began := make(chan struct{})
		h := handler{
			accepted: func(w *aio.Watcher, conn net.Conn) {
				// The read is what Shutdown ends; its completion leaves the rest alone.
				if err := errors.Join(w.Read(nil, conn, nil), w.Write(nil, conn, message)); err != nil {
					t.Error(err)
				}
				close(began)
			},
			completed: func(w *aio.Watcher, r *aio.OpResult) {
				if r.Operation == aio.OpRead && !errors.Is(r.Error, aio.ErrWatcherClosed) {
					t.Errorf("the read ends with %v", r.Error)
				}
				if r.Operation == aio.OpWrite && (r.Error != nil || r.Size != len(message)) {
					t.Errorf("the write ends after %d bytes with %v", r.Size, r.Error)
				}
			},
		}
		r := serve(t, &aio.Server{Handler: h, Options: aio.Options{Driver: d}, Grace: atMost, OnError: func(err error) { t.Error(err) }}, listenOn(t, 1))
		c := dialTo(t, "tcp", r.addrs[0])
		<-began
		r.stop()
		got, err := io.ReadAll(c)
		if err != nil || !bytes.Equal(got, message) {
			t.Errorf("%d of %d bytes came, %v", len(got), len(message), err)
		}
		if err := r.wait(); err != nil {
			t.Error(err)
		}
	})
}

func TestGraceBoundsTheEnd(t *testing.T) {
	overBothDrivers(t, func(t *testing.T, d aio.Driver) {
		for _, grace := range []time.Duration{-1, 30 * time.Millisecond} {
			began := make(chan struct{})
			var size atomic.Int64
			h := handler{
				accepted: func(w *aio.Watcher, conn net.Conn) {
					if err := w.Write(nil, conn, make([]byte, 64<<20)); err != nil {
						t.Error(err)
					}
					close(began)
				},
				completed: func(w *aio.Watcher, r *aio.OpResult) {
					if r.Error == nil || len(r.Buffer) != 64<<20 {
						t.Errorf("the write came to its end: %v, and gave back %d bytes", r.Error, len(r.Buffer))
					}
					size.Add(int64(len(r.Buffer)))
				},
			}
			heard := make(chan error, 1)
			s := &aio.Server{Handler: h, Options: aio.Options{Driver: d}, Grace: grace, OnError: func(err error) { heard <- err }}
			r := serve(t, s, listenOn(t, 1))
			dialTo(t, "tcp", r.addrs[0])
			<-began
			r.stop()
			if err := r.wait(); err != nil {
				t.Errorf("grace %v: %v", grace, err)
			}
			if size.Load() == 0 {
				t.Errorf("grace %v: the write was not completed", grace)
			}
			select {
			case err := <-heard:
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("grace %v: OnError hears %v", grace, err)
				}
			default:
				t.Errorf("grace %v: nobody hears that a write was cut off", grace)
			}
		}
	})
}
