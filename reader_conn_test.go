package sluice_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// scrambled is a wrapper that must not be bypassed: its Read differs from that
// of the connection that it embeds.
type scrambled struct{ *net.TCPConn }

func (c scrambled) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	for i := range p[:n] {
		p[i] ^= 0x55
	}
	return n, err
}

func TestWrapperOfAConnectionIsReadThroughItsRead(t *testing.T) {
	near, far := tcpPair(t)
	data := testData(100_000)
	twisted := bytes.Clone(data)
	for i := range twisted {
		twisted[i] ^= 0x55
	}
	send(t, far, twisted, every(7000))
	r := readerOf(t, paranoid(t), 0, scrambled{near})
	if p, err := io.ReadAll(r); err != nil || !bytes.Equal(p, data) {
		t.Errorf("%d bytes, %v: the wrapper was passed by", len(p), err)
	}
	var out bytes.Buffer
	near, far = tcpPair(t)
	send(t, far, twisted, every(7000))
	r.Reset(scrambled{near})
	// WriteTo to a connection too: what the kernel moves is not unscrambled.
	a, b := tcpPair(t)
	goTest(t, func() {
		if _, err := r.WriteTo(a); err != nil {
			t.Error(err)
		}
		closeWrite(a)
	})
	if _, err := out.ReadFrom(b); err != nil || !bytes.Equal(out.Bytes(), data) {
		t.Errorf("WriteTo: %d bytes, %v: the wrapper was passed by", out.Len(), err)
	}
}

// optedIn wraps a connection and changes nothing, and says so.
type optedIn struct{ *net.TCPConn }

func (c optedIn) RawRead() syscall.Conn { return c.TCPConn }

func (optedIn) Read([]byte) (int, error) { panic("Read was called") }

func TestConnectionThatOptsInIsReadByItsDescriptor(t *testing.T) {
	near, far := tcpPair(t)
	a := paranoid(t)
	r := readerOf(t, a, 0, optedIn{near})
	done := waits(t, func(r *sluice.BufReader) { mustReadByte(t, r, 'x') }, r)
	if out := a.Stats().OutBytes; out != 0 {
		t.Errorf("%d bytes are checked out while it waits", out)
	}
	write(t, far, "x")
	done()
	rest, src := r.Detach()
	rest.Release()
	if _, ok := src.(optedIn); !ok {
		t.Errorf("Detach hands on %T", src)
	}
}

func TestWriteToBetweenConnectionsKeepsTheOrder(t *testing.T) {
	data := testData(1 << 20)
	near, far := tcpPair(t)
	send(t, far, data, every(30_000))
	r := readerOf(t, paranoid(t), 0, near)
	if _, err := r.Next(100); err != nil { // some more are in the window
		t.Fatal(err)
	}
	a, b := tcpPair(t)
	goTest(t, func() {
		n, err := r.WriteTo(a)
		if n != int64(len(data)-100) || err != nil {
			t.Errorf("WriteTo: %d, %v", n, err)
		}
		if total := r.TotalRead(); total != int64(len(data)) {
			t.Errorf("TotalRead is %d", total)
		}
		refusesUnread(t, r, "after WriteTo")
		closeWrite(a)
	})
	if got, err := io.ReadAll(b); err != nil || !bytes.Equal(got, data[100:]) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestUnreadByteBeforeAndAfterWriteToBetweenConnections(t *testing.T) {
	near, far := tcpPair(t)
	r := readerOf(t, paranoid(t), 0, near)
	write(t, far, "x")
	mustReadByte(t, r, 'x')
	write(t, far, "rest")
	closeWrite(far)
	a, b := tcpPair(t)
	if n, err := r.WriteTo(a); n != 4 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	closeWrite(a)
	if got, err := io.ReadAll(b); string(got) != "rest" || err != nil {
		t.Fatalf("%q, %v", got, err)
	}
	refusesUnread(t, r, "after WriteTo")
}

func TestFilesAreRead(t *testing.T) {
	data := testData(300_000)
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	r := readerOf(t, paranoid(t), 0, f)
	if p, err := io.ReadAll(r); err != nil || !bytes.Equal(p, data) {
		t.Errorf("%d bytes, %v", len(p), err)
	}
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pr.Close() }()
	goTest(t, func() {
		_, _ = pw.Write(data)
		_ = pw.Close()
	})
	r.Reset(pr)
	if p, err := io.ReadAll(r); err != nil || !bytes.Equal(p, data) {
		t.Errorf("a pipe: %d bytes, %v", len(p), err)
	}
}

func TestConnectionThatIsNoneIsAnError(t *testing.T) {
	near, _ := tcpPair(t)
	_ = near.Close()
	for _, src := range []io.Reader{new(net.TCPConn), new(net.UnixConn), near} {
		r := readerOf(t, mem.Default(), 0, src)
		if _, err := r.ReadByte(); err == nil || err == io.EOF {
			t.Errorf("%T: %v", src, err)
		}
		r.Recycle()
	}
}
