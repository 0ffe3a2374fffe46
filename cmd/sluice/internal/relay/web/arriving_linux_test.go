package web

import (
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"
)

// A connection is not late while what it has sent lies unread: the server has had no processor.
func TestFirstHeaderThatLiesUnreadIsNotLate(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	peer, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(peer, "GET"); err != nil {
		t.Fatal(err)
	}
	f := firstHeaders{within: 10 * time.Millisecond}
	f.state(conn, http.StateNew)
	peer.SetReadDeadline(time.Now().Add(20 * f.within))
	if _, err := peer.Read(make([]byte, 1)); !os.IsTimeout(err) {
		t.Errorf("with unread bytes: %v", err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	peer.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := peer.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("silent since: %v", err)
	}
	f.state(conn, http.StateClosed)
}
