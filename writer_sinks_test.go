package sluice_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// writerOf returns a writer to w on a, recycled when the test ends. Bound is
// as in Options.
func writerOf(t testing.TB, a *mem.Allocator, bound int, w io.Writer) *sluice.BufWriter {
	t.Helper()
	b := sluice.NewBufWriter(w, sluice.Options{Allocator: a, BufLen: bound})
	t.Cleanup(b.Recycle)
	return b
}

// sink is a place to write to: open returns it, and end, which closes it and
// returns all that has arrived there.
type sink struct {
	name string
	open func(t testing.TB) (w io.Writer, end func() []byte)
}

// sinks are one for every way in which Flush sends.
func sinks() []sink {
	return []sink{
		{"buffer", func(testing.TB) (io.Writer, func() []byte) {
			var buf bytes.Buffer
			return &buf, buf.Bytes
		}},
		{"tcp", func(t testing.TB) (io.Writer, func() []byte) {
			near, far := tcpPair(t)
			return near, arrivals(t, near, far, nil)
		}},
		{"unix", func(t testing.TB) (io.Writer, func() []byte) {
			near, far := unixPair(t)
			return near, arrivals(t, near, far, nil)
		}},
		{"unix, small socket buffer", func(t testing.TB) (io.Writer, func() []byte) {
			near, far := unixPair(t)
			// Such that most system calls take a part of what they are given.
			if err := near.SetWriteBuffer(4096); err != nil {
				t.Fatal(err)
			}
			return near, arrivals(t, near, far, every(777))
		}},
		{"pipe, odd reads", func(t testing.TB) (io.Writer, func() []byte) {
			near, far := pipePair(t)
			return near, arrivals(t, near, far, every(1001))
		}},
		{"tls", func(t testing.TB) (io.Writer, func() []byte) {
			near, far := tcpPair(t)
			client, server := tlsOver(t, near, far)
			return client, arrivals(t, client, server, nil)
		}},
	}
}

// arrivals reads far to its end, in pieces of the lengths that next gives, if
// it is not nil, and returns a function that ends the stream and waits for
// what has come.
func arrivals(t testing.TB, near, far net.Conn, next func() int) func() []byte {
	var got bytes.Buffer
	failed := make(chan error, 1)
	goTest(t, func() {
		var r io.Reader = far
		if next != nil {
			r = &smallReads{far, next}
		}
		_, err := got.ReadFrom(r)
		failed <- err
	})
	// Ends a read that gets no answer.
	t.Cleanup(func() { _ = far.Close() })
	return func() []byte {
		t.Helper()
		closeWrite(near)
		var err error
		within(t, "the peer", func() { err = <-failed })
		if err != nil {
			t.Fatal(err)
		}
		return got.Bytes()
	}
}

type smallReads struct {
	r    io.Reader
	next func() int
}

func (s *smallReads) Read(p []byte) (int, error) { return s.r.Read(p[:min(len(p), s.next())]) }

// tlsOver makes two ends of a TLS connection of those of another.
func tlsOver(t testing.TB, near, far net.Conn) (client, server *tls.Conn) {
	t.Helper()
	web := httptest.NewTLSServer(http.NotFoundHandler())
	cert := web.TLS.Certificates
	web.Close()
	client = tls.Client(near, &tls.Config{InsecureSkipVerify: true}) // the test's own certificate
	server = tls.Server(far, &tls.Config{Certificates: cert})
	shaken := make(chan error, 1)
	go func() { shaken <- server.Handshake() }()
	if err := errors.Join(client.Handshake(), <-shaken); err != nil {
		t.Fatal(err)
	}
	return client, server
}

// recorder keeps the calls of a writer apart.
type recorder struct{ calls [][]byte }

func (r *recorder) Write(p []byte) (int, error) {
	r.calls = append(r.calls, bytes.Clone(p))
	return len(p), nil
}

func (r *recorder) all() []byte { return bytes.Join(r.calls, nil) }

func (r *recorder) lengths() []int {
	var n []int
	for _, p := range r.calls {
		n = append(n, len(p))
	}
	return n
}

var errSink = errors.New("the sink is full")

// limited takes left bytes and then fails with err; with a nil err its Write is
// short without an error.
type limited struct {
	bytes.Buffer
	left int
	err  error
}

func (l *limited) Write(p []byte) (int, error) {
	if len(p) <= l.left {
		l.left -= len(p)
		return l.Buffer.Write(p)
	}
	n, _ := l.Buffer.Write(p[:l.left])
	l.left = 0
	return n, l.err
}

// holds returns the number of blocks of a that are out.
func holds(a *mem.Allocator) int { return a.Stats().CheckedOut }

// tight is a writer that fails a test when it is given room behind what it is to write.
type tight struct{ t *testing.T }

func (w tight) Write(p []byte) (int, error) {
	if cap(p) != len(p) {
		w.t.Errorf("Write is given %d bytes with room for %d", len(p), cap(p))
	}
	return len(p), nil
}

// Some writers take p[:cap(p)] for a buffer of their own: bufio's keeps one for all
// its life, and here what is behind p is memory that others get.
func TestWriterBelowIsGivenNoRoomBehindTheBytes(t *testing.T) {
	a := paranoid(t)
	b := writerOf(t, a, 0, tight{t})
	for _, n := range []int{1, 100, 300, 5000, 70_000} {
		_ = b.WriteByte('x')
		_ = b.Flush()
		_, _ = b.WriteString(strings.Repeat("y", n))
		_ = b.WriteBuf(filled(a, 'b', n))
		_ = b.WriteByte('z')
		if err := b.Flush(); err != nil {
			t.Fatal(err)
		}
	}
}
