package web

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// pair is a connection over the loopback interface, and the client's end.
func pair(t *testing.T) (here, there net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if there, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { there.Close() })
	if here, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { here.Close() })
	return here, there
}

// While memory is short, answers of which clients take nothing are ended; not those that they
// take slowly, nor those that are not there yet.
func TestAnswersThatAreNotTakenAreEnded(t *testing.T) {
	var a answering
	fill := func(conn net.Conn) {
		conn.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
		for err := error(nil); err == nil; {
			_, err = conn.Write(make([]byte, 1<<20)) // until the kernel takes no more
		}
	}
	stuck, silent := pair(t)
	slow, reads := pair(t)
	waits, _ := pair(t)
	idle, _ := pair(t)
	for _, conn := range []net.Conn{stuck, slow, waits, idle} {
		a.state(conn, http.StateNew)
		a.state(conn, http.StateActive)
	}
	fill(stuck)
	fill(idle)
	a.state(idle, http.StateIdle) // its answer has been sent as far as this server goes
	now, p := time.Now(), make([]byte, 64<<10)
	reads.SetReadDeadline(now.Add(20 * time.Second))
	for range 5 {
		fill(slow) // what is read makes room for more, in a larger window, too
		before, _, _ := session.Sent(slow)
		for acked := before; acked == before; acked, _, _ = session.Sent(slow) {
			if _, err := reads.Read(p); err != nil {
				t.Fatal(err)
			}
		}
		a.endUntaken(now)
		now = now.Add(untakenFor / 2)
	}
	if n := a.number(); n != 1 {
		t.Errorf("%d answers are ended", n)
	}
	silent.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.Copy(io.Discard, silent); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the kernel kept the answer: %v", err)
	}
	for conn, open := range map[net.Conn]bool{stuck: false, slow: true, waits: true, idle: true} {
		if got := conn.SetDeadline(time.Time{}) == nil; got != open {
			t.Errorf("open is %v, want %v: stuck %v, slow %v, waits %v", got, open, conn == stuck, conn == slow, conn == waits)
		}
	}
}

// One address has half of the places for files; a client that takes nothing keeps none when
// others have none.
func TestFilesThatAreSentAreBounded(t *testing.T) {
	w := &Server{Host: &session.Host{Log: slog.New(slog.DiscardHandler)}}
	w.conns.answering.bound(4 * perAnswer)
	send := func(from string) (func(), error) { return w.Sending(&http.Request{RemoteAddr: from + ":1"}) }
	stuck, _ := pair(t)
	w.conns.answering.state(stuck, http.StateActive)
	stuck.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	for err := error(nil); err == nil; {
		_, err = stuck.Write(make([]byte, 1<<20))
	}
	var leave func()
	for _, c := range []struct {
		from string
		ok   bool
	}{{"192.0.2.1", true}, {"192.0.2.1", true}, {"192.0.2.1", false}, {"192.0.2.2", true}, {"192.0.2.3", true}, {"192.0.2.4", false}} {
		l, err := send(c.from)
		if (err == nil) != c.ok || err != nil && !errors.Is(err, session.ErrFull) {
			t.Errorf("%s: %v", c.from, err)
		}
		if err == nil {
			leave = l
		}
	}
	leave()
	if _, err := send("192.0.2.5"); err != nil {
		t.Errorf("one has been sent: %v", err)
	}
	past := func() {
		for _, taking := range w.conns.answering.conns {
			taking.at = taking.at.Add(-untakenFor)
		}
		w.conns.answering.looked = time.Time{}
	}
	past()
	send("192.0.2.6")
	if err := stuck.SetDeadline(time.Time{}); err == nil {
		t.Error("a client that takes nothing keeps its connection while others have no place")
	}
	w.conns.answering.bound(0)
	for range 100 {
		if _, err := send("192.0.2.1"); err != nil {
			t.Fatalf("without a limit: %v", err)
		}
	}
}
