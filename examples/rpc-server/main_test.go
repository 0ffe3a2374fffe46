package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"log"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/sluice-go/sluice/aio"
)

// atMost bounds every wait for something that has to happen.
const atMost = 30 * time.Second

// said is a log that tests read.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// serve runs a server until the test ends.
func serve(t *testing.T, idle time.Duration) (addr string, heard *said) {
	t.Helper()
	listeners, err := aio.Listen(t.Context(), "tcp", "127.0.0.1:0", 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	heard = new(said)
	go func() {
		ended <- aio.Serve(ctx, listeners, aio.Options{}, newHandler(log.New(heard, "", 0), idle))
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Serve returns %v", err)
		}
	})
	return listeners[0].Addr().String(), heard
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, atMost)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(atMost)); err != nil {
		t.Fatal(err)
	}
	return c
}

func frame(text string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
}

func hear(t *testing.T, c net.Conn) string {
	t.Helper()
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		t.Fatal(err)
	}
	p := make([]byte, binary.BigEndian.Uint32(head[:]))
	if _, err := io.ReadFull(c, p); err != nil {
		t.Fatal(err)
	}
	return string(p)
}

func TestEachConnectionHasItsState(t *testing.T) {
	addr, _ := serve(t, 0)
	a, b := dial(t, addr), dial(t, addr)
	for _, step := range []struct {
		c         net.Conn
		say, hear string
	}{
		{a, "login anna", "welcome anna"},
		{b, "echo who", " 1 who"},
		{b, "login bert", "welcome bert"},
		{a, "echo hello", "anna 2 hello"},
		{b, "echo hello", "bert 3 hello"},
		{b, "echo", "bert 4 "},
	} {
		if _, err := step.c.Write(frame(step.say)); err != nil {
			t.Fatal(err)
		}
		if got := hear(t, step.c); got != step.hear {
			t.Errorf("%q is answered with %q, want %q", step.say, got, step.hear)
		}
	}
}

// Calls that come byte by byte, and many at once, are answered the same.
func TestCallsInAnyPieces(t *testing.T) {
	addr, _ := serve(t, 0)
	var calls []byte
	long := strings.Repeat("x", maxCall-len("echo "))
	for _, text := range []string{"login anna", "echo 1", "echo " + long, "echo 2"} {
		calls = append(calls, frame(text)...)
	}
	for name, r := range map[string]io.Reader{
		"at once":      bytes.NewReader(calls),
		"by halves":    iotest.HalfReader(bytes.NewReader(calls)),
		"byte by byte": io.MultiReader(iotest.OneByteReader(bytes.NewReader(calls[:40])), bytes.NewReader(calls[40:])),
	} {
		c := dial(t, addr)
		go func() {
			// Without ReadFrom of the connection, which would gather.
			_, _ = io.Copy(struct{ io.Writer }{c}, r)
		}()
		for _, want := range []string{"welcome anna", "anna 2 1", "anna 3 " + long, "anna 4 2"} {
			if got := hear(t, c); got != want {
				t.Errorf("%s: %.40q, want %.40q", name, got, want)
			}
		}
	}
}

func TestBadCallsEndTheConnection(t *testing.T) {
	for _, c := range []struct {
		say  []byte
		idle time.Duration
		want string
	}{
		{frame("dance"), 0, errUnknownCall.Error()},
		{frame("login " + strings.Repeat("x", maxName+1)), 0, errNameTooLong.Error()},
		{binary.BigEndian.AppendUint32(nil, maxCall+1), 0, aio.ErrFrameTooLong.Error()},
		{[]byte{0, 0}, 100 * time.Millisecond, aio.ErrDeadline.Error()},
	} {
		addr, heard := serve(t, c.idle)
		conn := dial(t, addr)
		if _, err := conn.Write(c.say); err != nil {
			t.Fatal(err)
		}
		if p, err := io.ReadAll(conn); len(p) > 0 || err != nil {
			t.Errorf("%q is answered with %q, %v", c.say, p, err)
		}
		for deadline := time.Now().Add(atMost); !strings.Contains(heard.String(), c.want); runtime.Gosched() {
			if time.Now().After(deadline) {
				t.Fatalf("%q is not in the log: %s", c.want, heard)
			}
		}
	}
}

func TestWrongFlagsAreRefused(t *testing.T) {
	for _, args := range [][]string{{"extra"}, {"-watchers", "0"}, {"-idle", "-1s"}, {"-addr", "nowhere"}} {
		if err := run(t.Context(), args, io.Discard); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}

func TestItSaysWhereItListens(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, []string{"-addr", "127.0.0.1:0", "-watchers", "2"}, w) }()
	line := make([]byte, 100)
	n, err := r.Read(line)
	if err != nil || !strings.HasPrefix(string(line[:n]), "listening on 127.0.0.1:") {
		t.Errorf("%q, %v", line[:n], err)
	}
	go io.Copy(io.Discard, r)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
