package std

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/internal/testcert"
)

func patterned(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

// tlsOver makes a TLS connection of a and b, whose handshake is still to come.
func (x *fixture) tlsOver(a, b net.Conn) (server, client *tls.Conn) {
	x.Helper()
	return tls.Server(a, testcert.Server(x)), tls.Client(b, testcert.Client(x))
}

func TestEchoesOverTLSAndItsFirstReadShakesHands(t *testing.T) {
	x := newFixture(t, op.Settings{})
	near, far := x.tcp()
	server, client := x.tlsOver(near, far)
	data := patterned(600_000)
	done := x.wantEcho(client, data)
	if _, largest := x.echo(server, len(data)); largest > mostHeld {
		t.Errorf("a read took %d bytes", largest)
	}
	done()
	x.must(x.w.Read("end", server, nil))
	x.must(client.Close())
	x.wantOne("end", io.EOF, 0)
	x.must(x.w.Free(server))
	if err := x.w.Read(nil, server, nil); err != op.ErrConnClosed {
		t.Errorf("Read after Free: %v", err)
	}
}

func TestEchoesOverAPipe(t *testing.T) {
	x := newFixture(t, op.Settings{})
	near, far := x.pipe()
	data := patterned(300_000)
	done := x.wantEcho(far, data)
	x.echo(near, len(data))
	done()
	x.must(x.w.Read("end", near, make([]byte, 10)))
	x.must(far.Close())
	x.wantOne("end", io.EOF, 0)
	x.must(x.w.Write("too late", near, []byte("x")))
	x.wantOne("too late", io.ErrClosedPipe, 0)
	x.must(x.w.Free(near))
	x.must(x.w.Free(near))
}

func TestOnAPipeThatWasClosedByTheProgram(t *testing.T) {
	x := newFixture(t, op.Settings{})
	near, _ := x.pipe()
	x.must(near.Close())
	x.must(x.w.Read("read", near, nil))
	x.wantOne("read", op.ErrConnClosed, 0)
	x.must(x.w.Write("write", near, []byte("x")))
	x.wantOne("write", op.ErrConnClosed, 0)
}

// masked is a connection whose methods do more than those of the socket in it.
type masked struct {
	*net.TCPConn
	reads, writes atomic.Int32
}

func (c *masked) Read(p []byte) (int, error) {
	c.reads.Add(1)
	n, err := c.TCPConn.Read(p)
	for i := range p[:n] {
		p[i] ^= 0x5A
	}
	return n, err
}

func (c *masked) Write(p []byte) (int, error) {
	c.writes.Add(1)
	q := make([]byte, len(p))
	for i := range p {
		q[i] = p[i] ^ 0x5A
	}
	return c.TCPConn.Write(q)
}

func TestUsesTheMethodsOfAWrapper(t *testing.T) {
	x := newFixture(t, op.Settings{})
	near, far := x.tcp()
	wrapped, peer := &masked{TCPConn: near}, &masked{TCPConn: far}
	data := patterned(300_000)
	done := x.wantEcho(peer, data)
	x.echo(wrapped, len(data))
	done()
	s := x.w.Stats()
	if reads, writes := wrapped.reads.Load(), wrapped.writes.Load(); s.ReadCalls != uint64(reads) || s.WriteCalls != uint64(writes) || reads == 0 {
		t.Errorf("%d reads and %d writes, the watcher counts %d and %d", reads, writes, s.ReadCalls, s.WriteCalls)
	}
}

func TestDoesNotDelegate(t *testing.T) {
	x := newFixture(t, op.Settings{})
	near, far := x.tcp()
	x.must(x.w.ReadTimeout("read", near, make([]byte, 10), time.Now().Add(time.Millisecond)))
	x.wantOne("read", op.ErrDeadline, 0)
	x.wantGoroutines(0)
	go far.Write([]byte("to the program"))
	got := make([]byte, 14)
	if _, err := io.ReadFull(near, got); err != nil || string(got) != "to the program" {
		t.Errorf("the connection's own Read: %q, %v", got, err)
	}
	_, err := near.Write([]byte("x"))
	x.must(err)
}

func TestSaysWhatItCannotDo(t *testing.T) {
	x := newFixture(t, op.Settings{})
	if err := x.w.Pin(0); !errors.Is(err, op.ErrUnsupported) {
		t.Errorf("Pin: %v", err)
	}
}
