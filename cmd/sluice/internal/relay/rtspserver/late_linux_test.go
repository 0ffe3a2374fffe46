package rtspserver

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// Between two requests too, a client is not late while what it has sent lies unread.
func TestARequestThatLiesUnreadIsNotLate(t *testing.T) {
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
	defer conn.Close()
	x := &peer{server: New(&session.Host{Ctx: t.Context(), Times: session.Times{Idle: time.Minute}}, nil), conn: conn, requests: 1}
	if _, err := io.WriteString(client, "OPT"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil { // they are here
		t.Fatal(err)
	}
	if err := x.late(); err != nil {
		t.Errorf("with unread bytes: %v", err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 2)); err != nil {
		t.Fatal(err)
	}
	if err := x.late(); err != session.ErrIdle {
		t.Errorf("silent since: %v", err)
	}
}
