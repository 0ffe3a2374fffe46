package live

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"time"
)

// wirePair is TLS over a Wire.
func wirePair(t testing.TB, s, c net.Conn) (*tls.Conn, *tls.Conn) { return tlsPair(t, NewWire(s), c) }

// TLS over a Wire is served by the loop, with nothing of the stream left out, to the end of
// TLS.
func TestTLSViewerOverAWire(t *testing.T) {
	if !direct {
		t.Skip("no loop writes to sockets here")
	}
	viewerGetsAll(t, wirePair, false)
}

// A trailer that the socket does not take at once is sent once.
func TestTrailerOnASocketThatIsFull(t *testing.T) {
	for _, kind := range []string{"socket", "wire", "tls"} {
		h := NewHub(HubOptions{})
		p := mustPublish(t, h, "s", PublishOptions{})
		w := newWriter(t, WriterOptions{})
		s, c := pair(t)
		s.SetWriteBuffer(32 << 10)
		c.SetReadBuffer(32 << 10)
		var conn, peer net.Conn = s, c
		switch kind {
		case "wire":
			conn, peer = wirePair(t, s, c)
		case "tls":
			conn, peer = tlsPair(t, s, c)
		}
		trailer := bytes.Repeat([]byte("trailer "), 1<<17)
		v := add(t, w, conn, p.Stream(), ViewerOptions{FromStart: true, Trailer: trailer})
		send(t, p, video(0, true, 1000))
		p.Close()
		waitForFrames(t, v, 1)
		b, err := io.ReadAll(peer)
		if want := 13 + 15 + len(video(0, true, 1000).body) + len(trailer); err != nil || len(b) != want {
			t.Errorf("%s: %d bytes, want %d; %v", kind, len(b), want, err)
		}
		w.Close()
		h.Close()
	}
}

// Before its connection is a viewer's a Wire passes on; then it keeps, without waiting, as
// much as a loop may have, and what a peer that does not read makes TLS answer ends the
// connection.
func TestWireKeepsOnlySoMuch(t *testing.T) {
	if !direct {
		t.Skip("no loop writes to sockets here")
	}
	s, c := pair(t)
	wire := NewWire(s)
	if wire.NetConn() != net.Conn(s) {
		t.Fatal("it is over another connection")
	}
	text := []byte("passed on")
	if _, err := wire.Write(text); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, text) {
		t.Fatalf("%q, %v", got, err)
	}
	wire.keep()
	answer := make([]byte, 1000)
	n := 0
	for ; n <= maxSealed; n += len(answer) {
		if _, err := wire.Write(answer); err != nil {
			if !errors.Is(err, errSealed) {
				t.Fatal(err)
			}
			break
		}
	}
	if n > maxSealed || wire.kept() != n {
		t.Fatalf("it keeps %d bytes of %d", wire.kept(), n)
	}
	l := newLink(s)
	var w socketWriter
	w.init()
	l.socket, l.wire = &w, wire
	go func() {
		for {
			if _, left, err := l.drain(); left == 0 || err != nil {
				return
			}
			<-time.After(time.Millisecond)
		}
	}()
	if _, err := io.ReadFull(c, make([]byte, n)); err != nil {
		t.Fatal(err)
	}
}

// The viewers of a loop share the memory for their records: what a socket does not take is kept apart, the
// memory serves the next viewer, and a viewer for whom nothing waits holds none.
func TestWiresOfALoopShareMemory(t *testing.T) {
	if !direct {
		t.Skip("no loop writes to sockets here")
	}
	s, c := pair(t)
	other, _ := pair(t)
	full, next := newLink(s), newLink(other)
	var w socketWriter
	w.init()
	for _, l := range []*link{&full, &next} {
		l.socket, l.wire = &w, NewWire(l.conn)
		l.wire.keep()
	}
	var sent []byte
	for left := 0; left == 0; {
		full.wire.lend(&w)
		p := bytes.Repeat([]byte{byte(len(sent) >> 17)}, maxSealed)
		if _, err := full.wire.Write(p); err != nil {
			t.Fatal(err)
		}
		if _, err := full.wire.Write(p[:1]); !errors.Is(err, errSealed) {
			t.Fatalf("one byte more: %v", err)
		}
		sent = append(sent, p...)
		var err error
		if _, left, err = full.drain(); err != nil || left != full.wire.kept() {
			t.Fatalf("%d bytes are left of %d: %v", left, full.wire.kept(), err)
		}
		if w.whole[0] != nil || cap(w.sealed) < maxSealed || left == 0 && full.wire.out != nil {
			t.Fatalf("%d bytes of memory are the loop's, %d of a viewer with %d bytes", cap(w.sealed), cap(full.wire.out), left)
		}
	}
	shared := &w.sealed[:1][0]
	next.wire.lend(&w)
	if _, err := next.wire.Write(bytes.Repeat([]byte("other123"), maxSealed/8)); err != nil || &next.wire.out[0] != shared {
		t.Errorf("it has memory of its own: %v", err)
	}
	if _, _, err := next.drain(); err != nil {
		t.Error(err)
	}
	got := make([]byte, len(sent))
	read := make(chan error, 1)
	go func() {
		_, err := io.ReadFull(c, got)
		read <- err
	}()
	for left := 1; left > 0; {
		var err error
		if _, left, err = full.drain(); err != nil {
			t.Fatal(err)
		}
		runtime.Gosched()
	}
	if err := <-read; err != nil || !bytes.Equal(got, sent) {
		t.Errorf("what waited is not what was written: %v", err)
	}
	s.Close()
	if _, err := full.wire.Write([]byte("late")); err != nil {
		t.Fatal(err)
	}
	if _, left, err := full.drain(); left != 4 || err == nil {
		t.Errorf("%d bytes are left by a connection that is closed: %v", left, err)
	}
}

// A Write that waits when the connection becomes a viewer's ends: it may hold TLS's lock,
// for which a loop would wait.
func TestWireEndsAWriteThatWaits(t *testing.T) {
	s, _ := pair(t)
	wire := NewWire(s)
	ended := make(chan error, 1)
	began := make(chan struct{})
	go func() {
		p := make([]byte, 1<<20)
		close(began)
		for {
			if _, err := wire.Conn.Write(p); err != nil { // as Write does that has begun before
				ended <- err
				return
			}
		}
	}()
	<-began
	wire.keep()
	select {
	case <-ended:
	case <-time.After(eventTimeout):
		t.Fatal("it still waits")
	}
}
