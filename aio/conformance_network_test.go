package aio_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// narrow is the size of socket buffers, in bytes, for peers that shall be slow;
// tooMuch is certainly more than fits into those, and into what the kernel adds.
const (
	narrow  = 64 << 10
	tooMuch = 2 << 20
)

// pair returns both ends of a connection: near is for the watcher, far is used
// by its own methods, which give up after a while.
func (f *fixture) pair() (near, far net.Conn) {
	f.Helper()
	near, far = f.loosePair()
	f.Cleanup(func() { _ = near.Close() })
	return near, far
}

// loosePair is pair without a hold on near, which the program can forget.
func (f *fixture) loosePair() (near, far net.Conn) {
	f.Helper()
	switch f.network {
	case "pipe":
		near, far = net.Pipe()
	case "tls":
		near, far = tlsPair(f, f.socketPair)
	default:
		near, far = f.socketPair()
	}
	if err := far.SetDeadline(time.Now().Add(2 * eventTimeout)); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = far.Close() })
	return near, far
}

// pairs returns n connections.
func (f *fixture) pairs(n int) (near, far []net.Conn) {
	f.Helper()
	near, far = make([]net.Conn, n), make([]net.Conn, n)
	for i := range n {
		near[i], far[i] = f.pair()
	}
	return near, far
}

// narrowPair is a pair that holds little on its way from near to far.
func (f *fixture) narrowPair() (near, far net.Conn) {
	f.Helper()
	near, far = f.pair()
	f.narrow(near, far)
	return near, far
}

func (f *fixture) narrow(near, far net.Conn) {
	f.Helper()
	if s, ok := socketOf(near).(sized); ok {
		if err := errors.Join(s.SetWriteBuffer(narrow), socketOf(far).(sized).SetReadBuffer(narrow)); err != nil {
			f.Fatal(err)
		}
	}
}

type sized interface {
	SetWriteBuffer(int) error
	SetReadBuffer(int) error
}

// socketOf is what conn stands on.
func socketOf(conn net.Conn) net.Conn {
	if over, ok := conn.(interface{ NetConn() net.Conn }); ok {
		return over.NetConn()
	}
	return conn
}

func (f *fixture) socketPair() (near, far net.Conn) {
	f.Helper()
	if f.listener == nil {
		f.listen()
	}
	// The kernel completes the connection before the program accepts it.
	far, err := net.Dial(f.listener.Addr().Network(), f.listener.Addr().String())
	if err != nil {
		f.Fatal(err)
	}
	near, err = f.listener.Accept()
	if err != nil {
		_ = far.Close()
		f.Fatal(err)
	}
	return near, far
}

func (f *fixture) listen() {
	f.Helper()
	network, address := "tcp", "127.0.0.1:0"
	if f.network == "unix" || f.network == "unixpacket" {
		// The names of tests are too long for an address in t.TempDir.
		dir, err := os.MkdirTemp("", "aio")
		if err != nil {
			f.Fatal(err)
		}
		f.Cleanup(func() { _ = os.RemoveAll(dir) })
		network, address = f.network, filepath.Join(dir, "s")
	}
	l, err := net.Listen(network, address)
	if err != nil {
		if network == "unixpacket" {
			f.Skipf("no %s on this system: %v", network, err)
		}
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = l.Close() })
	f.listener = l
}

// background runs do in a goroutine, which must have ended without an error
// when the test ends.
func (f *fixture) background(what string, do func() error) (done <-chan struct{}) {
	c := make(chan struct{})
	var err error
	go func() {
		defer close(c)
		err = do()
	}()
	f.Cleanup(func() {
		select {
		case <-c:
			if err != nil {
				f.Errorf("%s: %v", what, err)
			}
		case <-time.After(eventTimeout):
			f.Errorf("not after %v: %s", eventTimeout, what)
		}
	})
	return c
}

// send has the peer send data in pieces.
func (f *fixture) send(far net.Conn, data []byte) (done <-chan struct{}) {
	return f.background("the peer sends", func() error { return sendPieces(far, f.cut, data) })
}

func sendPieces(far net.Conn, cut string, data []byte) error {
	r := pieces(cut, data)
	b := make([]byte, len(data))
	for left := len(data); left > 0; {
		n, err := r.Read(b[:left])
		if err != nil {
			return err
		}
		if _, err := far.Write(b[:n]); err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// sendAll has the peer send all of data at once, and returns when the kernel
// has it. It is for data that fits into socket buffers.
func (f *fixture) sendAll(far net.Conn, data []byte) {
	f.Helper()
	if _, err := far.Write(data); err != nil {
		f.Fatalf("the peer's write: %v", err)
	}
}

// receive has the peer read and compare, in the background.
func (f *fixture) receive(far net.Conn, want []byte) (done <-chan struct{}) {
	want = slices.Clone(want)
	return f.background("the peer reads", func() error {
		got := make([]byte, len(want))
		n, err := io.ReadFull(far, got)
		if !bytes.Equal(got[:n], want[:n]) {
			return errWrongBytes
		}
		return err
	})
}

// receiveAll has the peer read and compare, now.
func (f *fixture) receiveAll(far net.Conn, want []byte) {
	f.Helper()
	got := make([]byte, len(want))
	n, err := io.ReadFull(far, got)
	if err != nil || !bytes.Equal(got, want) {
		f.Fatalf("the peer read %d bytes of %d, %v, right: %v", n, len(want), err, bytes.Equal(got[:n], want[:n]))
	}
}

// wantEOF checks that the peer sees the end of the stream, and nothing before.
func (f *fixture) wantEOF(far net.Conn) {
	f.Helper()
	if n, err := far.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		f.Errorf("the peer read %d bytes, %v, want the end of the stream", n, err)
	}
}

// collect reads without pause, by what submit submits, until n bytes have come.
func (f *fixture) collect(n int, submit func(left int) *op) []byte {
	f.Helper()
	var got []byte
	for len(got) < n {
		o := submit(n - len(got))
		f.wait(o)
		f.wantError(o, nil)
		got = append(got, o.take()...)
		if o.res.Error != nil {
			f.FailNow()
		}
	}
	return got
}
