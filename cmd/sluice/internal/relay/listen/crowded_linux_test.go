package listen

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"
)

// Of those who hold a place while others wait, one whose bytes lie unread waits for this process,
// and one that was answered just now has had no time: they give way for their own silence alone.
func TestWhoIsServedLateIsNotSilent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dial := func() (client, conn net.Conn) {
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close() })
		if conn, err = l.Accept(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return client, conn
	}
	now := time.Unix(1_700_000_000, 0)
	a := &Arrivals{now: func() time.Time { return now }, quietFor: time.Hour} // no timer of its own fires meanwhile
	a.Limit(2, 2)
	gone := ""
	come := func(name string, conn net.Conn) *Arrival {
		return a.Come(netip.MustParseAddr("192.0.2.1"), conn, func(err error) {
			if gone += name; !errors.Is(err, ErrGaveWay) {
				t.Errorf("%s ends with %v", name, err)
			}
		})
	}
	look := func() {
		for range 5 {
			now = now.Add(a.quietFor / 4)
			a.due = now
			a.look()
		}
	}
	client, conn := dial()
	if _, err := client.Write([]byte("GET")); err != nil {
		t.Fatal(err)
	}
	_, silent := dial()
	come("a", conn)
	come("b", silent)
	third := come("c", nil)
	until(t, "the bytes are here", func() bool { return Unread(conn) == 3 })
	if look(); gone != "b" {
		t.Errorf("%q gave way", gone)
	}
	third.Leave()
	a.Limit(1, 1)
	come("d", nil)
	if _, err := conn.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("HTTP")); err != nil {
		t.Fatal(err)
	}
	until(t, "the answer is taken", func() bool { _, _, acked := passed(conn); return acked >= 4 })
	if look(); gone != "b" {
		t.Errorf("%q gave way after an answer", gone)
	}
	if look(); gone != "ba" {
		t.Errorf("%q gave way in the end", gone)
	}
}
