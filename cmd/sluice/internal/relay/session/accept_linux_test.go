package session

import (
	"io"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
)

// What a client has sent may lie unread for longer than it has for its first request: the server is
// late then. A client that says nothing is.
func TestAFirstRequestThatLiesUnreadIsNotLate(t *testing.T) {
	const header = 20 * time.Millisecond
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &Host{Log: slog.New(slog.DiscardHandler), Ctx: t.Context(), Times: Times{Header: header}}
	served := make(chan error, 1)
	read := make(chan struct{})
	accepting := make(chan error, 1)
	go func() {
		accepting <- h.Accept(l, "rtmp", nil, &listen.Arrivals{}, func(a Arrived) func(func()) {
			<-read
			_, err := io.ReadFull(a.Conn, make([]byte, 3))
			served <- err
			_, err = a.Conn.Read(make([]byte, 1))
			served <- err
			return nil
		})
	}()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := io.WriteString(client, "GET"); err != nil {
		t.Fatal(err)
	}
	client.SetReadDeadline(time.Now().Add(10 * header))
	if _, err := client.Read(make([]byte, 1)); !os.IsTimeout(err) {
		t.Errorf("the client: %v", err)
	}
	close(read)
	if err := <-served; err != nil {
		t.Errorf("what lay unread: %v", err)
	}
	if err := <-served; !os.IsTimeout(err) {
		t.Errorf("of a client that says nothing: %v", err)
	}
	l.Close()
	if err := <-accepting; err == nil {
		t.Error("accepting goes on")
	}
	if err := h.Group.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}
