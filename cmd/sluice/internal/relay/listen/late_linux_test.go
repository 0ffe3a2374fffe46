package listen

import (
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// Who has sent something is not late while it lies unread, nor is a connection that waits for a place
// closed for the time that others hold them all.
func TestAQueueKeepsWhomItHasNotRead(t *testing.T) {
	const within = 10 * time.Millisecond
	var a Arrivals
	a.Limit(1, 1)
	below, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Queue(below, &a, &Proxies{}, within)
	defer l.Close()
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", below.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	dial()
	first, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	asks := dial()
	if _, err := io.WriteString(asks, "GET"); err != nil {
		t.Fatal(err)
	}
	asks.SetReadDeadline(time.Now().Add(20 * within))
	if _, err := asks.Read(make([]byte, 1)); !os.IsTimeout(err) {
		t.Errorf("one that has asked: %v", err)
	}
	silent := dial()
	silent.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := silent.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("one that says nothing: %v", err)
	}
	first.Close()
	next, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(io.LimitReader(next, 3)); err != nil || string(text) != "GET" {
		t.Errorf("%q, %v", text, err)
	}
	next.Close()
	if s := a.Stats(); s.On != 0 || s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
}

// connected returns both ends of a connection over TCP, which are closed with the test.
func connected(t *testing.T) (client, conn net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	if conn, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return client, conn
}

// Who sends without end without asking for anything is late, though there are always bytes of it that
// were not read: the server reads all the time.
func TestWhoSendsWithoutEndIsLate(t *testing.T) {
	client, conn := connected(t)
	go func() {
		for err := error(nil); err == nil; {
			_, err = client.Write(make([]byte, 64<<10))
		}
	}()
	until(t, "there is much to read", func() bool { return Unread(conn) >= 64<<10 })
	late := make(chan struct{})
	defer Late(conn, 10*lateSteps*time.Millisecond, func() { close(late) })()
	p := make([]byte, 1)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		select {
		case <-late:
			return
		default:
			if _, err := conn.Read(p); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Error("not late in a minute")
}

// A server that has read something, and then reads no more of what lies there, is late itself.
func TestAServerThatStopsToReadIsLateItself(t *testing.T) {
	client, conn := connected(t)
	if _, err := io.WriteString(client, "GET"); err != nil {
		t.Fatal(err)
	}
	until(t, "the request has come", func() bool { return Unread(conn) == 3 })
	const within = lateSteps * time.Millisecond
	late := make(chan struct{})
	defer Late(conn, within, func() { close(late) })()
	if _, err := conn.Read(make([]byte, 2)); err != nil {
		t.Fatal(err)
	}
	select {
	case <-late:
		t.Error("late while the request lies unread")
	case <-time.After(5 * within):
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	<-late
}
