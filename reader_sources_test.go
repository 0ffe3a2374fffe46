package sluice_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// testData returns n bytes without a short period.
func testData(n int) []byte {
	p := make([]byte, n)
	x := uint32(2463534242)
	for i := range p {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		p[i] = byte(x >> 11)
	}
	return p
}

// paranoid returns an allocator that poisons what is released, and fails the
// test when a reference is left at its end.
func paranoid(t testing.TB) *mem.Allocator {
	t.Helper()
	return watched(t, 0)
}

// watched is paranoid with a budget in bytes.
func watched(t testing.TB, budget int64) *mem.Allocator {
	t.Helper()
	a := mem.New(mem.Options{Name: t.Name(), Budget: budget, Leak: mem.LeakParanoid})
	t.Cleanup(func() {
		if t.Failed() {
			return // what was held then would hide the reason
		}
		for _, l := range a.Leaks() {
			t.Errorf("%d bytes were not released; taken at\n%s", l.Size, l.Stack)
		}
		// Checks that nothing wrote to what was released.
		a.Trim()
	})
	return a
}

// readerOf returns a reader of src on a, recycled when the test ends. BufLen
// is as in BufReader.
func readerOf(t testing.TB, a *mem.Allocator, bufLen int, src io.Reader) *sluice.BufReader {
	t.Helper()
	r := &sluice.BufReader{Allocator: a, BufLen: bufLen}
	r.Reset(src)
	t.Cleanup(r.Recycle)
	return r
}

// stream is a way to bring bytes to a reader: open returns one of data, which
// comes in pieces of the lengths that next gives, and then ends.
type stream struct {
	name string
	open func(t testing.TB, a *mem.Allocator, data []byte, next func() int) *sluice.BufReader
}

// streams are one for every constructor and every way to wait.
func streams() []stream {
	return []stream{
		{"reader", func(t testing.TB, a *mem.Allocator, data []byte, next func() int) *sluice.BufReader {
			return readerOf(t, a, 0, &pieces{data: data, next: next})
		}},
		{"BufLen 16", pinned(16)},
		{"BufLen 17", pinned(17)},
		{"BufLen 4096", pinned(4096)},
		{"tcp", func(t testing.TB, a *mem.Allocator, data []byte, next func() int) *sluice.BufReader {
			near, far := tcpPair(t)
			send(t, far, data, next)
			return readerOf(t, a, 0, near)
		}},
		{"tcp, BufLen 100", func(t testing.TB, a *mem.Allocator, data []byte, next func() int) *sluice.BufReader {
			near, far := tcpPair(t)
			send(t, far, data, next)
			return readerOf(t, a, 100, near)
		}},
		{"unix", func(t testing.TB, a *mem.Allocator, data []byte, next func() int) *sluice.BufReader {
			near, far := unixPair(t)
			send(t, far, data, next)
			return readerOf(t, a, 0, near)
		}},
		{"pipe", func(t testing.TB, a *mem.Allocator, data []byte, next func() int) *sluice.BufReader {
			near, far := pipePair(t)
			send(t, far, data, next)
			return readerOf(t, a, 0, near)
		}},
		{"chan", func(t testing.TB, a *mem.Allocator, data []byte, next func() int) *sluice.BufReader {
			r := sluice.NewBufReaderChan(3, sluice.Options{Allocator: a})
			goTest(t, func() {
				for len(data) > 0 {
					n := min(next(), len(data))
					if r.Feed(bytes.Clone(data[:n])) != nil {
						return
					}
					data = data[n:]
				}
				close(r.Mouth)
			})
			t.Cleanup(r.Recycle)
			return r
		}},
		{"fed", func(t testing.TB, a *mem.Allocator, data []byte, next func() int) *sluice.BufReader {
			r := sluice.NewBufReaderFed(sluice.Options{Allocator: a})
			t.Cleanup(r.Recycle)
			for i := 0; len(data) > 0; i++ {
				n := min(next(), len(data))
				if err := feed(r, a, i, data[:n]); err != nil {
					t.Fatal(err)
				}
				data = data[n:]
			}
			r.FeedEnd(nil)
			return r
		}},
		{"bytes", func(t testing.TB, a *mem.Allocator, data []byte, next func() int) *sluice.BufReader {
			r := sluice.NewBufReaderBytes(bytes.Clone(data), sluice.Options{Allocator: a})
			t.Cleanup(r.Recycle)
			return r
		}},
		{"taken over", func(t testing.TB, a *mem.Allocator, data []byte, next func() int) *sluice.BufReader {
			near, far := tcpPair(t)
			send(t, far, data, next)
			rw := bufio.NewReadWriter(bufio.NewReaderSize(near, 64), nil)
			if _, err := rw.Peek(1); err != nil && err != io.EOF {
				t.Fatal(err)
			}
			r := sluice.NewBufReaderFrom(rw, near, sluice.Options{Allocator: a})
			t.Cleanup(r.Recycle)
			return r
		}},
	}
}

func pinned(n int) func(t testing.TB, a *mem.Allocator, data []byte, next func() int) *sluice.BufReader {
	return func(t testing.TB, a *mem.Allocator, data []byte, next func() int) *sluice.BufReader {
		return readerOf(t, a, n, &pieces{data: data, next: next})
	}
}

// feed passes p to r in one of three ways, which turn selects.
func feed(r *sluice.BufReader, a *mem.Allocator, turn int, p []byte) error {
	switch turn % 3 {
	case 0:
		return r.Feed(bytes.Clone(p))
	case 1:
		return r.FeedCopy(p)
	}
	buf := a.Get(len(p))
	copy(buf.Bytes(), p)
	return r.FeedBuf(buf)
}

// pieces is an io.Reader that gives data in pieces, with (0, nil) between some
// of them, and io.EOF sometimes together with the last.
type pieces struct {
	data []byte
	next func() int
	turn int
}

func (s *pieces) Read(p []byte) (int, error) {
	s.turn++
	if len(s.data) == 0 {
		return 0, io.EOF
	}
	if s.turn%7 == 0 {
		return 0, nil
	}
	n := copy(p[:min(len(p), max(1, s.next()))], s.data)
	if s.data = s.data[n:]; len(s.data) == 0 && s.turn%2 == 0 {
		return n, io.EOF
	}
	return n, nil
}

// every returns a chunking of pieces of n bytes.
func every(n int) func() int { return func() int { return n } }

// goTest runs f in a goroutine that has ended before the test does.
func goTest(t testing.TB, f func()) {
	done := make(chan struct{})
	t.Cleanup(func() {
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Error("a goroutine of the test does not end")
		}
	})
	go func() {
		defer close(done)
		f()
	}()
}

// send writes data to c in pieces and closes its writing side.
func send(t testing.TB, c net.Conn, data []byte, next func() int) {
	goTest(t, func() {
		for len(data) > 0 {
			n := min(next(), len(data))
			if _, err := c.Write(data[:n]); err != nil {
				return
			}
			data = data[n:]
		}
		closeWrite(c)
	})
	// Ends a Write that is never read.
	t.Cleanup(func() { _ = c.Close() })
}

func closeWrite(c net.Conn) {
	if h, ok := c.(interface{ CloseWrite() error }); ok {
		_ = h.CloseWrite()
		return
	}
	_ = c.Close()
}

func tcpPair(t testing.TB) (near, far *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a, b := connPair(t, l)
	return a.(*net.TCPConn), b.(*net.TCPConn)
}

func unixPair(t testing.TB) (near, far *net.UnixConn) {
	t.Helper()
	// t.TempDir has the test's name in it, and a socket's path is short.
	dir, err := os.MkdirTemp("", "sluice")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	a, b := connPair(t, l)
	return a.(*net.UnixConn), b.(*net.UnixConn)
}

// connPair returns both ends of a connection through l, which it closes.
func connPair(t testing.TB, l net.Listener) (near, far net.Conn) {
	t.Helper()
	defer func() { _ = l.Close() }()
	dialed := make(chan error, 1)
	go func() {
		var err error
		far, err = net.Dial(l.Addr().Network(), l.Addr().String())
		dialed <- err
	}()
	near, err := l.Accept()
	if err := errors.Join(err, <-dialed); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = near.Close()
		_ = far.Close()
	})
	return near, far
}

func pipePair(t testing.TB) (near, far net.Conn) {
	near, far = net.Pipe()
	t.Cleanup(func() {
		_ = near.Close()
		_ = far.Close()
	})
	return near, far
}

// eventually polls until ok says that what another goroutine does has come
// about, and fails the test when that never happens.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	end := time.After(time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// within fails the test when f does not return: a call that must not wait, or
// must be woken, would otherwise hang all tests.
func within(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s does not return", what)
	}
}

// panicOf returns what f panics with, as text; "" when it does not.
func panicOf(f func()) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprint(p)
		}
	}()
	f()
	return ""
}

// streamPair is tcpPair, unixPair or pipePair.
func streamPair(t testing.TB, network string) (near, far net.Conn) {
	switch network {
	case "tcp":
		return tcpPair(t)
	case "unix":
		return unixPair(t)
	}
	return pipePair(t)
}

// write writes s whole. It may run in another goroutine than the test's.
func write(t testing.TB, w io.Writer, s string) {
	if _, err := io.WriteString(w, s); err != nil {
		t.Error(err)
	}
}

// allocated returns how many bytes f allocates on the heap.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// untilParked returns when a goroutine that is inside a function whose name
// contains frame waits for something: for bytes, a channel or memory.
func untilParked(t testing.TB, frame string) {
	t.Helper()
	buf := make([]byte, 1<<20)
	eventually(t, "a goroutine that waits in "+frame, func() bool {
		for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			head, _, _ := strings.Cut(g, "\n")
			parked := strings.Contains(head, "[IO wait") || strings.Contains(head, "[select") || strings.Contains(head, "[chan receive")
			if parked && strings.Contains(g, frame) {
				return true
			}
		}
		return false
	})
}
