package handover

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pair returns the ends of a connection, and what is below the first.
func pair(t *testing.T) (a, b *Conn, raw *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*net.UnixConn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = c.(*net.UnixConn)
	}
	if a, err = NewConn(ends[0]); err != nil {
		t.Fatal(err)
	}
	if b, err = NewConn(ends[1]); err != nil {
		t.Fatal(err)
	}
	return a, b, ends[0]
}

// Whenever the old process gives up, both know who has everything.
func TestOneOfTheTwoHasEverything(t *testing.T) {
	var taken, kept int
	for range 2000 {
		old, successor, _ := pair(t)
		d := time.Duration(rand.IntN(300)) * time.Microsecond
		sent := make(chan error, 1)
		go func() {
			time.Sleep(d) // not to wait for anything: the answer comes before, at or after the end of the time
			successor.Within(time.Minute)
			sent <- successor.Send(KindTaken, nil, nil, nil)
		}()
		old.Within(time.Duration(rand.IntN(300)) * time.Microsecond)
		_, err := old.Expect(KindTaken, nil)
		has := err == nil || old.GiveUp()
		if err := <-sent; (err == nil) != has {
			t.Fatalf("the successor sent it: %v; the old one says that it has it: %v", err, has)
		}
		if has {
			taken++
		} else {
			kept++
		}
		old.Close()
		successor.Close()
	}
	t.Log(taken, "taken,", kept, "kept")
}

// An interruption counts also before the next step has begun, and what has come before it
// is still seen.
func TestInterruptLasts(t *testing.T) {
	a, b, _ := pair(t)
	defer a.Close()
	defer b.Close()
	if err := b.Send(KindTaken, nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	a.Interrupt()
	a.Within(time.Hour)
	if _, err := a.Receive(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after an interruption: %v", err)
	}
	if !a.GiveUp() {
		t.Error("what was taken is not")
	}
}

func TestMessagesWithDescriptors(t *testing.T) {
	a, b, _ := pair(t)
	defer a.Close()
	defer b.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	content := make([]byte, 9<<20)
	for i := range content {
		content[i] = byte(i * i)
	}
	sent := make(chan error, 1)
	go func() {
		err := a.Send(KindStream, Listener{Setting: "x"}, content, nil)
		for range 3 {
			err = errors.Join(err, a.Send(KindListener, Listener{Setting: "rtmp"}, nil, l.(*net.TCPListener)))
		}
		sent <- err
	}()
	var one Listener
	m, err := b.Expect(KindStream, &one)
	if err != nil || string(m.Content) != string(content) || m.File != nil || one.Setting != "x" {
		t.Fatalf("%v, %d bytes, %+v", err, len(m.Content), one)
	}
	for range 3 {
		if m, err = b.Expect(KindListener, &one); err != nil || m.File == nil || one.Setting != "rtmp" {
			t.Fatalf("%v %+v", err, one)
		}
		again, err := net.FileListener(m.File)
		if err != nil || again.Addr().String() != l.Addr().String() {
			t.Fatalf("%v %v", again, err)
		}
		again.Close()
		m.File.Close()
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}

func TestMessagesThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		bytes string
		want  error
	}{
		{"", io.EOF},
		{"SLUP", io.ErrUnexpectedEOF},
		{"SLUP\x01\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00{}", io.ErrUnexpectedEOF},
		{"GET / HTTP/1.1\r\n", ErrProtocol},
		{"SLUP\x01\x01\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00{}", ErrProtocol}, // a descriptor that is not there
		{"SLUP\x01\x00\x00\x00\x00\x00\x10\x01\x00\x00\x00\x00", ErrTooLong},
		{"SLUP\x01\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x01{}x", ErrTooLong},
		{"SLUP\x06\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff", ErrTooLong},
		{"SLUP\x02\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00{}", ErrRefused},
		{"SLUP\x03\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00{}", ErrProtocol}, // not the one that is due
		{"SLUP\x01\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00{]", ErrProtocol},
	} {
		_, b, raw := pair(t)
		raw.Write([]byte(c.bytes))
		raw.Close()
		var h Hello
		if _, err := b.Expect(KindHello, &h); !errors.Is(err, c.want) {
			t.Errorf("%q: %v, want %v", c.bytes, err, c.want)
		}
		b.Close()
	}
}
