package source_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/source"
)

// conn is what the tests need of a connection or file.
type conn interface {
	io.ReadWriteCloser
	SetReadDeadline(time.Time) error
}

type wrapped struct{ net.Conn }

// hidden is a wrapper that does not embed its connection.
type hidden struct {
	conn net.Conn
	read int
}

func (h *hidden) Read(p []byte) (int, error) {
	n, err := h.conn.Read(p)
	h.read += n
	return n, err
}

func (h *hidden) Write(p []byte) (int, error)        { return h.conn.Write(p) }
func (h *hidden) Close() error                       { return h.conn.Close() }
func (h *hidden) LocalAddr() net.Addr                { return h.conn.LocalAddr() }
func (h *hidden) RemoteAddr() net.Addr               { return h.conn.RemoteAddr() }
func (h *hidden) SetDeadline(t time.Time) error      { return h.conn.SetDeadline(t) }
func (h *hidden) SetReadDeadline(t time.Time) error  { return h.conn.SetReadDeadline(t) }
func (h *hidden) SetWriteDeadline(t time.Time) error { return h.conn.SetWriteDeadline(t) }

// reader is a wrapper of a connection that is not one itself.
type reader struct {
	name string
	tcp  *net.TCPConn
}

func (r reader) Read(p []byte) (int, error)        { return r.tcp.Read(p) }
func (r reader) Write(p []byte) (int, error)       { return r.tcp.Write(p) }
func (r reader) Close() error                      { return r.tcp.Close() }
func (r reader) SetReadDeadline(t time.Time) error { return r.tcp.SetReadDeadline(t) }

// brief is a connection whose reader does not work for long.
type brief struct{ *net.TCPConn }

func (c brief) RawRead() syscall.Conn { return c }

func (c brief) SyscallConn() (syscall.RawConn, error) {
	raw, err := c.TCPConn.SyscallConn()
	return briefDescriptor{raw}, err
}

type briefDescriptor struct{ syscall.RawConn }

func (briefDescriptor) Brief() {}

// undescribed is one that has no descriptor for a reader.
type undescribed struct{ net.Conn }

func (undescribed) RawRead() syscall.Conn { return nil }

// pair returns both ends of a connection of a kind.
func pair(t testing.TB, kind string) (near, far conn) {
	t.Helper()
	switch kind {
	case "tcp", "brief tcp", "wrapped tcp", "wrapped twice", "tls", "hidden tcp", "tls hidden", "reader", "undescribed":
		a, b := dialed(t, "tcp", "127.0.0.1:0")
		switch kind {
		case "hidden tcp":
			return &hidden{conn: a}, b
		case "tls hidden":
			a, b := secured(t, a, b)
			return &hidden{conn: a}, b
		case "brief tcp":
			return brief{a.(*net.TCPConn)}, b
		case "undescribed":
			return undescribed{a}, b
		case "reader":
			return reader{"tcp", a.(*net.TCPConn)}, b
		case "wrapped tcp":
			return wrapped{a}, b
		case "wrapped twice":
			return &wrapped{wrapped{a}}, b
		case "tls":
			return secured(t, a, b)
		}
		return a, b
	case "unix":
		dir, err := os.MkdirTemp("", "sluice")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		return dialed(t, "unix", filepath.Join(dir, "s"))
	case "file":
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = r.Close(), w.Close() })
		return r, w
	}
	a, b := net.Pipe()
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	switch kind {
	case "wrapped pipe":
		return wrapped{a}, b
	case "hidden pipe":
		return &hidden{conn: a}, b
	case "tls over a pipe":
		return secured(t, a, b)
	}
	return a, b
}

var kinds = []string{"tcp", "unix", "file", "tls", "pipe", "wrapped tcp", "wrapped twice", "wrapped pipe", "tls over a pipe", "hidden tcp", "hidden pipe", "tls hidden", "reader", "brief tcp", "undescribed"}

func dialed(t testing.TB, network, address string) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Skipf("no %s here: %v", network, err)
	}
	defer func() { _ = l.Close() }()
	result := make(chan error, 1)
	go func() {
		var err error
		far, err = net.Dial(network, l.Addr().String())
		result <- err
	}()
	near, err = l.Accept()
	if err := errors.Join(err, <-result); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return near, far
}

func secured(t testing.TB, near, far net.Conn) (server, client *tls.Conn) {
	t.Helper()
	h := httptest.NewUnstartedServer(nil)
	h.StartTLS() // for its certificate
	config := h.TLS.Clone()
	h.Close()
	config.NextProtos = nil
	server = tls.Server(near, config)
	client = tls.Client(far, &tls.Config{InsecureSkipVerify: true})
	result := make(chan error, 1)
	go func() { result <- client.Handshake() }()
	if err := errors.Join(server.Handshake(), <-result); err != nil {
		t.Fatal(err)
	}
	return server, client
}

func receive(t testing.TB, what string, c <-chan error) error {
	t.Helper()
	select {
	case err := <-c:
		return err
	case <-time.After(time.Minute):
		t.Fatalf("nothing is reported of %s", what)
		return nil
	}
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.After(time.Minute); !ok(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

var endings = []struct {
	name string
	do   func(c conn) error
	is   []error // one of them
}{
	{"Close", func(c conn) error { return c.Close() }, []error{net.ErrClosed, os.ErrClosed, io.ErrClosedPipe}},
	{"a deadline in the past", func(c conn) error { return c.SetReadDeadline(time.Unix(1, 0)) }, []error{os.ErrDeadlineExceeded}},
	{"a deadline that comes", func(c conn) error { return c.SetReadDeadline(time.Now().Add(3 * time.Millisecond)) }, []error{os.ErrDeadlineExceeded}},
}

func isOneOf(err error, targets []error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

func TestWatchSeesTheEndOfAConnection(t *testing.T) {
	for _, kind := range kinds {
		for _, e := range endings {
			for _, bytesWait := range []bool{false, true} {
				if bytesWait && strings.Contains(kind, "pipe") {
					continue // its Write waits
				}
				near, far := pair(t, kind)
				if bytesWait {
					if _, err := far.Write([]byte("abc")); err != nil {
						t.Fatal(err)
					}
				}
				report := make(chan error, 1)
				var w source.Watch
				w.Start(near, report)
				if e.name == "Close" && strings.HasPrefix(kind, "tls") {
					// Its Close says goodbye first.
					go func() { _, _ = io.Copy(io.Discard, far) }()
				}
				start := time.Now()
				if err := e.do(near); err != nil {
					t.Fatal(err)
				}
				err := receive(t, kind+": "+e.name, report)
				t.Logf("%s, %s: %v after %v", kind, e.name, err, time.Since(start))
				if !isOneOf(err, e.is) {
					t.Errorf("%s, %s: %v", kind, e.name, err)
				}
				w.Stop()
			}
		}
	}
}

// TestWatchReadsNothing: what waits is there for the reader.
func TestWatchReadsNothing(t *testing.T) {
	for _, kind := range kinds {
		near, far := pair(t, kind)
		report := make(chan error, 1)
		var w source.Watch
		w.Start(near, report)
		go func() { _, _ = far.Write([]byte("abc")) }()
		for range 20 {
			w.Stop()
			w.Start(near, report)
		}
		w.Stop()
		p := make([]byte, 3)
		if _, err := io.ReadFull(near, p); err != nil || string(p) != "abc" {
			t.Errorf("%s: %q, %v", kind, p, err)
		}
		if len(report) != 0 {
			t.Errorf("%s: %v is reported", kind, <-report)
		}
	}
}

// TestNothingIsSentAfterStop: another watch over the same connection says when
// its end has been seen.
func TestNothingIsSentAfterStop(t *testing.T) {
	for _, kind := range kinds {
		near, far := pair(t, kind)
		go func() { _, _ = io.Copy(io.Discard, far) }()
		stopped, report := make(chan error, 1), make(chan error, 1)
		var first, second source.Watch
		first.Start(near, stopped)
		second.Start(near, report)
		first.Stop()
		first.Stop()
		_ = near.Close()
		_ = receive(t, kind, report)
		second.Stop()
		if len(stopped) != 0 {
			t.Errorf("%s: %v was sent after Stop", kind, <-stopped)
		}
		// And it can be started again.
		first.Start(near, stopped)
		_ = receive(t, kind+" that is closed", stopped)
		first.Stop()
	}
}

// TestReportIsNotWaitedFor: it has room for one error, which may be another's.
func TestReportIsNotWaitedFor(t *testing.T) {
	near, _ := pair(t, "tcp")
	other, _ := pair(t, "tcp")
	report, sentinel := make(chan error, 1), make(chan error, 1)
	report <- io.EOF
	var w, beside source.Watch
	w.Start(near, report)
	beside.Start(other, sentinel)
	_ = near.Close()
	eventually(t, "the end of the first watch", func() bool { n, _ := source.Watched(); return n == 1 })
	_ = other.Close()
	_ = receive(t, "the connection beside", sentinel)
	w.Stop()
	beside.Stop()
	if err := <-report; err != io.EOF {
		t.Error(err)
	}
}

func TestNobodyLooksWhenNothingIsWatched(t *testing.T) {
	near := make([]conn, 40)
	w := make([]source.Watch, len(near))
	report := make(chan error, 1)
	for i := range near {
		near[i], _ = pair(t, []string{"tcp", "unix", "wrapped tcp", "file"}[i%4])
		w[i].Start(near[i], report)
	}
	if n, running := source.Watched(); n != len(w) || !running {
		t.Errorf("%d are watched, %v", n, running)
	}
	for i := range w {
		w[i].Stop()
	}
	eventually(t, "the end of looking", func() bool { n, running := source.Watched(); return n == 0 && !running })
	stacks := make([]byte, 1<<20)
	eventually(t, "the end of all goroutines", func() bool {
		s := string(stacks[:runtime.Stack(stacks, true)])
		return !strings.Contains(s, "source.look(")
	})
	// A probe that is inside a pipe's Read ends with the pipe.
	a, b := net.Pipe()
	w[0].Start(a, report)
	w[0].Stop()
	_ = b.Close()
	eventually(t, "the end of the probe", func() bool {
		return !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "(*probe).run")
	})
}

// TestALookDoesNotWaitForAReader: a look that began before Stop must not be
// inside the connection when its reader is, who may stay there for ever.
func TestALookDoesNotWaitForAReader(t *testing.T) {
	const readers = 8
	var group sync.WaitGroup
	for range readers {
		near, far := pair(t, "tcp")
		group.Go(func() {
			var w source.Watch
			p := make([]byte, 1)
			for range 200 {
				report := make(chan error, 1)
				w.Start(near, report)
				runtime.Gosched()
				w.Stop()
				go func() { _, _ = far.Write([]byte{1}) }()
				if _, err := near.Read(p); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("a reader does not come out")
	}
}

// TestManyWatchesAreSeenInTime: more than are looked at in one go.
func TestManyWatchesAreSeenInTime(t *testing.T) {
	const many = 300
	near := make([]conn, many)
	w := make([]source.Watch, many)
	for i := range near {
		near[i], _ = pair(t, "file")
		w[i].Start(near[i], make(chan error, 1))
	}
	last, _ := pair(t, "tcp")
	report := make(chan error, 1)
	var lw source.Watch
	lw.Start(last, report)
	start := time.Now()
	_ = last.Close()
	_ = receive(t, "the last of many", report)
	t.Logf("seen after %v", time.Since(start))
	for i := range w {
		w[i].Stop()
	}
	lw.Stop()
}

// both may read from either of its connections: the end of one says nothing.
type both struct{ up, down net.Conn }

func (b both) Read(p []byte) (int, error) { return b.up.Read(p) }

func TestAWrapperOfTwoConnectionsIsNotLookedInto(t *testing.T) {
	up, _ := pair(t, "tcp")
	down, _ := pair(t, "tcp")
	other, _ := pair(t, "tcp")
	report, sentinel := make(chan error, 1), make(chan error, 1)
	var w, beside source.Watch
	w.Start(both{up.(net.Conn), down.(net.Conn)}, report)
	_ = down.Close()
	beside.Start(other, sentinel)
	_ = other.Close()
	_ = receive(t, "the connection beside", sentinel)
	w.Stop()
	beside.Stop()
	if len(report) != 0 {
		t.Errorf("%v is reported", <-report)
	}
}

// A type of connection that cannot be compared is watched like others.
func TestAConnectionThatCannotBeComparedIsWatched(t *testing.T) {
	near, _ := net.Pipe()
	type odd struct {
		net.Conn
		_ []byte
	}
	c := odd{Conn: near}
	var w source.Watch
	report := make(chan error, 1)
	for range 2 {
		w.Start(c, report)
		w.Stop()
	}
	_ = near.Close()
}
