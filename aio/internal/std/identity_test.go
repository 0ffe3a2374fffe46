package std

import (
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/sluice-go/sluice/aio/internal/op"
)

type uncomparable struct {
	net.Conn
	_ []int
}

func TestRefusesWhatItCannotTellApart(t *testing.T) {
	x := newFixture(t, op.Settings{})
	near, far := x.pipe()
	for _, c := range []net.Conn{nil, (*net.TCPConn)(nil), uncomparable{Conn: near}, struct{ net.Conn }{uncomparable{Conn: near}}} {
		if err := x.w.Read(nil, c, nil); !errors.Is(err, op.ErrUnsupported) {
			t.Errorf("Read of %T: %v", c, err)
		}
		if err := x.w.WriteBuf(nil, c, x.alloc.Get(3), time.Time{}); !errors.Is(err, op.ErrUnsupported) {
			t.Errorf("WriteBuf of %T: %v", c, err)
		}
	}
	for _, c := range []net.Conn{nil, (*net.TCPConn)(nil)} {
		if err := x.w.Free(c); !errors.Is(err, op.ErrUnsupported) {
			t.Errorf("Free of %T: %v", c, err)
		}
	}
	x.must(x.w.Free(uncomparable{Conn: near}))
	if _, err := far.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("after Free the peer reads %v", err)
	}
}

// A connection of the program's own type is not the program's again when it is freed, which none reads
// from any more.
func TestFreedConnectionsAreCountedOnce(t *testing.T) {
	x := newFixture(t, op.Settings{})
	near, _ := x.pipe()
	x.must(x.w.Read("read", near, make([]byte, 1)))
	x.must(x.w.Free(near))
	x.wantOne("read", io.ErrClosedPipe, 0)
	x.wantGoroutines(0)
	if s := x.w.Stats(); s.Delegated != 1 || s.Freed != 1 || s.Conns != 0 {
		t.Errorf("%d taken over, %d freed, %d left", s.Delegated, s.Freed, s.Conns)
	}
}

// step has the watcher write on a connection, and forget it by calling WaitIO.
func (x *fixture) step(conn net.Conn) {
	x.Helper()
	x.must(x.w.Write("step", conn, []byte("x")))
	x.wantOne("step", nil, 1)
	x.wantGoroutines(0)
	x.fence()
}

func TestDoesNotHoldAForgottenConnection(t *testing.T) {
	x := newFixture(t, op.Settings{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	x.must(err)
	defer l.Close()
	far, err := net.Dial("tcp", l.Addr().String())
	x.must(err)
	defer far.Close()
	gone := func() weak.Pointer[masked] {
		near, err := l.Accept()
		x.must(err)
		c := &masked{TCPConn: near.(*net.TCPConn)}
		x.step(c)
		x.step(c.TCPConn)
		return weak.Make(c)
	}()
	x.eventually("the wrapper is collected", func() bool {
		runtime.GC()
		return gone.Value() == nil
	})
	x.must(far.SetReadDeadline(time.Now().Add(longest)))
	if n, err := io.Copy(io.Discard, far); n != 2 || err != nil {
		t.Errorf("the socket's own finalizer has not closed it: %d, %v", n, err)
	}
	x.eventually("only the connection of the last fence is counted", func() bool {
		runtime.GC()
		return x.w.Stats().Conns == 1
	})
}

func TestRemembersOfCollectedConnectionsNothing(t *testing.T) {
	x := newFixture(t, op.Settings{})
	read := func() {
		c := new(net.TCPConn) // whose methods fail: that will do
		x.must(x.w.Read(nil, c, make([]byte, 1)))
		x.one()
	}
	for range 2000 {
		read()
	}
	// A collection says only later that it has found them, and what is remembered is
	// looked through as connections come.
	for tries := 0; x.d.remembered() > 1000; tries++ {
		if tries == 5000 {
			t.Fatalf("%d connections are remembered", x.d.remembered())
		}
		runtime.GC()
		read()
	}
}

func (d *Driver) remembered() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.table.known.conns)
}

func TestCloseClosesIdleConnections(t *testing.T) {
	x := newFixture(t, op.Settings{})
	a, b := x.tcp()
	c, d := x.tcp()
	server, _ := x.tlsOver(c, d)
	x.step(a)
	x.must(x.w.ReadTimeout("no handshake", server, nil, time.Now()))
	x.wantOne("no handshake", op.ErrDeadline, 0)
	x.fence()
	x.must(x.w.Close())
	for _, far := range []net.Conn{b, d} {
		if _, err := io.Copy(io.Discard, far); err != nil {
			t.Errorf("the peer's read: %v", err)
		}
	}
	runtime.KeepAlive(a)
	runtime.KeepAlive(server)
}

func TestFreedConnectionIsKnown(t *testing.T) {
	x := newFixture(t, op.Settings{})
	near, far := x.tcp()
	x.must(x.w.Read("read", near, nil))
	x.must(x.w.Free(near))
	x.must(x.w.Free(near))
	x.wantOne("read", io.ErrClosedPipe, 0)
	x.fence()
	if err := x.w.Write(nil, near, []byte("x")); err != op.ErrConnClosed {
		t.Errorf("Write after Free: %v", err)
	}
	x.must(x.w.Free(near))
	if _, err := far.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the peer reads %v", err)
	}
	wrapped := struct{ net.Conn }{near}
	x.must(x.w.Free(wrapped))
	x.must(x.w.Write("wrapped", wrapped, []byte("x")))
	x.wantOne("wrapped", op.ErrConnClosed, 0)
}
