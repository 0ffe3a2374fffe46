package hooks

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/internal/loopback"
)

// A server that closes a connection which it has kept for a while, as most do after seconds, may do that when the next
// question is on its way: that is asked again, once, on a connection of its own, and refuses no client.
func TestAHookIsAskedAgainOverANewConnection(t *testing.T) {
	l, err := net.Listen("tcp", loopback.Host()+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	served := make(chan int, 100) // questions that came over each connection
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			served <- answerOnce(conn)
		}
	}()
	g := asking(t, access.Options{}, AdmissionOptions{}, "http://"+l.Addr().String())
	for n := range 3 {
		release, err := g.Admit(context.Background(), access.Request{Action: access.Play, Stream: "live/s"})
		if err != nil {
			t.Fatalf("client %d: %v", n, err)
		}
		release()
	}
	l.Close()
	for range 2 {
		if n := <-served; n != 2 {
			t.Errorf("%d questions over one connection", n)
		}
	}
}

// A question is asked again only when the connection was used before: a server that closes each at once is not asked
// without end.
func TestAHookThatClosesEachConnectionRefuses(t *testing.T) {
	l, err := net.Listen("tcp", loopback.Host()+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	connections := make(chan int)
	go func() {
		n := 0
		for ; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				break
			}
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			conn.Close()
		}
		connections <- n
	}()
	g := asking(t, access.Options{}, AdmissionOptions{}, "http://"+l.Addr().String())
	if _, err := g.Admit(context.Background(), access.Request{Action: access.Play, Stream: "live/s"}); err == nil {
		t.Error("the client is admitted")
	}
	l.Close()
	if n := <-connections; n != 1 {
		t.Errorf("%d connections", n)
	}
}

// answerOnce answers the first question of a connection, and closes it when the second one has come. It returns how many
// came.
func answerOnce(conn net.Conn) (n int) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for n < 2 {
		q, err := http.ReadRequest(r)
		if err != nil {
			return n
		}
		n++
		_, _ = io.Copy(io.Discard, q.Body)
		if n == 1 {
			_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
		}
	}
	return n
}
