package listen

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// A connection without a place is not accepted, and waits no longer than it may; nor when the
// listener is closed.
func TestAQueueAcceptsWhatHasAPlace(t *testing.T) {
	var a Arrivals
	a.Limit(1, 1)
	open := func(within time.Duration) (l net.Listener, dial func() net.Conn) {
		below, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l = Queue(below, &a, &Proxies{}, within)
		t.Cleanup(func() { l.Close() })
		return l, func() net.Conn {
			conn, err := net.Dial("tcp", below.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			return conn
		}
	}
	ended := func(conn net.Conn) {
		t.Helper()
		conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a connection that waits: %v", err)
		}
	}
	l, dial := open(time.Minute)
	accept := func() net.Conn {
		t.Helper()
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	dial()
	first := accept()
	dial()
	until(t, "one waits", func() bool { return a.Stats().Waiting == 1 })
	first.Close()
	second := accept()
	third := dial()
	until(t, "one waits", func() bool { return a.Stats().Waiting == 1 })
	l.Close()
	ended(third)
	if conn, err := l.Accept(); err == nil {
		t.Errorf("accepted %v", conn)
	}

	l, dial = open(time.Millisecond)
	conn := dial()
	go l.Accept()
	ended(conn)
	second.Close()
	if s := a.Stats(); s.On != 0 || s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
}

// until waits until what holds; the limit is for what hangs.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	limit, tick := time.NewTimer(2*time.Minute), time.NewTicker(time.Millisecond)
	defer limit.Stop()
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatal("never: ", what)
		}
	}
}
