package brief_test

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/brief"
	"github.com/sluice-go/sluice/mem"
)

func pair(t *testing.T) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if far, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	if near, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close() })
	return near, far
}

// A reader reads all, is ended by the deadline, holds no memory while it waits, and sees
// the end.
func TestConn(t *testing.T) {
	near, far := pair(t)
	alloc := mem.New(mem.Options{Name: "brief"})
	r := sluice.NewBufReader(brief.Conn(near), sluice.Options{Allocator: alloc})
	defer r.Recycle()
	for _, text := range []string{"a", "bc", "def"} {
		if _, err := far.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if p, err := r.Next(len(text)); err != nil || string(p) != text {
			t.Fatalf("%q, %v", p, err)
		}
	}
	if err := near.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Peek(1); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the deadline: %v", err)
	}
	if out := alloc.Stats().OutBytes; out > 0 {
		t.Errorf("%d bytes are held by a reader that has none", out)
	}
	if err := near.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := far.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

// Other kinds of connections stay what they are.
func TestOtherConns(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if brief.Conn(a) != a {
		t.Error("a pipe was changed")
	}
}
