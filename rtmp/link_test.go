package rtmp

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	sluice "github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// linkWait is how long a test waits for what must happen. It is only ever
// reached when a test fails.
const linkWait = 2 * time.Minute

// linkSide is one side of a connection with an allocator of its own.
type linkSide struct {
	*Conn
	conn  net.Conn
	r     *sluice.BufReader
	w     *sluice.BufWriter
	alloc *mem.Allocator
}

func linkNew(t testing.TB, conn net.Conn, o Options) *linkSide {
	a := mem.New(mem.Options{})
	r := &sluice.BufReader{Allocator: a}
	r.Reset(conn)
	w := sluice.NewBufWriter(conn, sluice.Options{Allocator: a})
	if err := conn.SetDeadline(time.Now().Add(linkWait)); err != nil {
		t.Fatal(err)
	}
	return &linkSide{Conn: NewConn(r, w, o), conn: conn, r: r, w: w, alloc: a}
}

func (s *linkSide) end() {
	s.conn.Close()
	s.Recycle()
	s.r.Recycle()
	s.w.Recycle()
}

// linkTCP returns both ends of a connection over TCP.
func linkTCP(t testing.TB) (server, client net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err = net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close(); client.Close() })
	return server, client
}

// linkPair returns a server and a client that are through the handshake.
func linkPair(t testing.TB, server, client Options) (*linkSide, *linkSide) {
	t.Helper()
	sc, cc := linkTCP(t)
	s, c := linkNew(t, sc, server), linkNew(t, cc, client)
	sluicetest.NoLeaks(t, s.alloc)
	sluicetest.NoLeaks(t, c.alloc)
	t.Cleanup(func() { s.end(); c.end() })
	done := make(chan error, 1)
	go func() { done <- s.ServerHandshake() }()
	if err := c.ClientHandshake(); err != nil {
		t.Fatal("client: ", err)
	}
	if err := <-done; err != nil {
		t.Fatal("server: ", err)
	}
	return s, c
}

// linkServed returns a client that is connected and plays or publishes, the
// server behind it, and the request that it has accepted.
func linkServed(t testing.TB, kind Kind, server, client Options) (*linkSide, *linkSide, *Request) {
	t.Helper()
	s, c := linkPair(t, server, client)
	type result struct {
		req *Request
		err error
	}
	done := make(chan result, 1)
	go func() {
		req, err := s.ReadRequest()
		if err == nil {
			err = s.Accept(req)
		}
		done <- result{req, err}
	}()
	if err := c.Connect(ConnectOptions{App: "live", TCURL: "rtmp://127.0.0.1/live"}); err != nil {
		t.Fatal("connect: ", err)
	}
	if err := c.begin(kind, "s"); err != nil {
		t.Fatal(kind, ": ", err)
	}
	r := <-done
	if r.err != nil {
		t.Fatal("server: ", r.err)
	}
	return s, c, r.req
}

// linkEnded reports whether err is what a peer's going looks like.
func linkEnded(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET)
}

// hostileWriter returns a writer to f with blocks from a.
func hostileWriter(a *mem.Allocator, f writerFunc) *sluice.BufWriter {
	w := sluice.NewBufWriter(f, sluice.Options{Allocator: a})
	return w
}

// chunkObject is an object of names and values.
func chunkObject(pairs ...any) amf0.Object {
	var o amf0.Object
	for i := 0; i < len(pairs); i += 2 {
		o = append(o, amf0.Property{Name: pairs[i].(string), Value: pairs[i+1]})
	}
	return o
}
