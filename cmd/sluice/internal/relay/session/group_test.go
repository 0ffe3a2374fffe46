package session

import (
	"context"
	"math"
	"net"
	"runtime"
	"testing"
	"time"
)

// What peers have sent and the server has not read counts, until it is read or
// the connection ends.
func TestUnreadBytesOfAGroup(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the kernel's queues are known on Linux only")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	var g Group
	over := make(chan struct{})
	g.Run(conn, func(net.Conn) { <-over })
	if n := g.Unread(0); n != 0 {
		t.Errorf("%d bytes of a silent peer", n)
	}
	if _, err := client.Write(make([]byte, 20_000)); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); g.Unread(0) != 20_000; {
		if time.Now().After(end) {
			t.Fatalf("%d bytes, 20,000 were sent", g.Unread(0))
		}
		<-time.After(time.Millisecond)
	}
	if _, known := tcpMemory(); known && g.Unread(math.MaxInt64) != 0 {
		t.Error("connections were looked at although there cannot be as much as is asked for")
	}
	close(over)
	if err := g.Wait(context.Background()); err != nil || g.Unread(0) != 0 {
		t.Errorf("%v, %d bytes of a peer that is gone", err, g.Unread(0))
	}
}
