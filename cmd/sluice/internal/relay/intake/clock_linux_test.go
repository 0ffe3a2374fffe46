//go:build !386 && !s390x

package intake

import (
	"net"
	"strings"
	"testing"
	"time"
)

// until is what a deadline is for a loop's gate.
func (l *loop) until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gate.at
}

// dry reads a connection that brings nothing.
type dry struct{ c *Conn }

func (d dry) Late() Verdict { return Wait }

func (d dry) Ready() Verdict {
	if _, err := d.c.Read(make([]byte, 1)); err != ErrDry {
		return Over
	}
	return Wait
}

// A deadline by the wall clock would be an hour late when the clock is set back by one, and
// a loop that has woken for it would try again all that time, without a pause.
func TestDeadlinesKeepToTheMonotonicClock(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	peer, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLoop()
	if err != nil {
		t.Fatal(err)
	}
	go l.run()
	c := new(Loops).Take(conn.(*net.TCPConn))
	c.loop = l
	at := time.Now().Add(time.Hour)
	if err := c.SetReadDeadline(at); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- c.Serve(dry{c}) }()
	for end := time.Now().Add(time.Minute); !l.until().Round(time.Millisecond).Equal(at.Round(time.Millisecond)); {
		if time.Now().After(end) {
			t.Fatalf("the loop waits until %v, want %v", l.until(), at)
		}
		<-time.After(time.Millisecond)
	}
	if text := l.until().String(); !strings.Contains(text, " m=") {
		t.Errorf("the loop waits until %s of the wall clock", text)
	}
	l.stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
