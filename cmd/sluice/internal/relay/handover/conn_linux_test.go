package handover

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
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

// Descriptors that a message is not to have are closed, be they beyond the one or with a message that is refused.
func TestDescriptorsThatAreNotWanted(t *testing.T) {
	const hello = "SLUP\x01\x01\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00{}"
	for _, c := range []struct {
		name, text string
		fds        int
		want       error
	}{
		{"one", hello, 1, nil},
		{"two", hello, 2, ErrProtocol},
		{"more than there is room for", hello, 9, ErrProtocol},
		{"one of a message of another kind", strings.Replace(hello, "\x01", "\x03", 1), 1, ErrProtocol},
		{"one that is not announced", strings.Replace(hello, "\x01\x01", "\x01\x00", 1), 1, ErrProtocol},
		{"one of a message that ends early", hello[:len(hello)-1], 1, io.ErrUnexpectedEOF},
		{"one of a head that ends early", hello[:5], 1, io.ErrUnexpectedEOF},
	} {
		_, b, raw := pair(t)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		fds := make([]int, c.fds)
		for i := range fds {
			fds[i] = int(w.Fd())
		}
		if _, _, err := raw.WriteMsgUnix([]byte(c.text), unix.UnixRights(fds...), nil); err != nil {
			t.Fatal(err)
		}
		raw.Close()
		w.Close()
		m, err := b.Expect(KindHello, nil)
		if !errors.Is(err, c.want) || (m.File != nil) != (err == nil) {
			t.Errorf("%s: %v, %v", c.name, m.File, err)
		}
		if m.File != nil {
			m.File.Close()
		}
		b.Close()
		// The pipe has ended when all descriptors of its other end are closed.
		r.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := r.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("%s: descriptors are left open: %v", c.name, err)
		}
		r.Close()
	}
}

// What the other side would refuse is not sent.
func TestMessagesThatAreNotSent(t *testing.T) {
	a, b, _ := pair(t)
	defer b.Close()
	for _, err := range []error{
		a.Send(KindHello, strings.Repeat("x", MaxHello), nil, nil),
		a.Send(KindHello, nil, []byte("x"), nil),
	} {
		if !errors.Is(err, ErrTooLong) {
			t.Error(err)
		}
	}
	a.Refuse(strings.Repeat("a reason ", 100))
	if _, err := b.Receive(); !errors.Is(err, ErrRefused) || len(err.Error()) > maxReason+100 || !strings.Contains(err.Error(), "a reason a reason") {
		t.Errorf("a refusal: %v", err)
	}
	a.Close()
	if _, err := b.Receive(); err != io.EOF {
		t.Errorf("there is more: %v", err)
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
