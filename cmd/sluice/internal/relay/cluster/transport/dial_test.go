package transport

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/internal/testcert"
)

// Nodes find each other over an outside NATS that wants TLS, whose certificate has to be a trusted one.
func TestOutsideNATSOverTLS(t *testing.T) {
	s := started(t, server.Options{Port: server.RANDOM_PORT, TLSConfig: testcert.Server(t)})
	url := "nats://" + s.Addr().String()
	a, inA := open(t, Options{Node: "a", URL: url, TLS: testcert.Client(t)})
	b, _ := open(t, Options{Node: "b", URL: "tls://" + s.Addr().String(), TLS: testcert.Client(t)})
	x, _ := open(t, Options{Node: "x", URL: url})
	inA.await(t, "b hello", func() { b.Send("", []byte("hello")) })
	if !a.Connected() || x.Connected() {
		t.Errorf("connected: %v; with a certificate that is not trusted: %v", a.Connected(), x.Connected())
	}
}

// A WebSocket over TLS is the client's own.
func TestWebSocketOverTLS(t *testing.T) {
	o := server.Options{Port: server.RANDOM_PORT}
	o.Websocket.Host, o.Websocket.Port, o.Websocket.TLSConfig = loopback.Host(), server.RANDOM_PORT, testcert.Server(t)
	s := started(t, o)
	conn, err := nats.Connect(s.WebsocketURL(), nats.SetCustomDialer(&dialer{done: t.Context()}), nats.Secure(testcert.Client(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.FlushTimeout(limit); err != nil {
		t.Error(err)
	}
}

// What comes in clear between a server's first line and TLS may be from another, and ends the connection.
func TestNothingComesBetweenTheFirstLineAndTLS(t *testing.T) {
	l, err := net.Listen("tcp", loopback.Host()+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ended := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			ended <- err
			return
		}
		defer conn.Close()
		io.WriteString(conn, "INFO {\"server_id\":\"a\",\"version\":\"2.10.0\",\"proto\":1,\"max_payload\":1048576,\"tls_required\":true}\r\nPING\r\n")
		_, err = bufio.NewReader(conn).ReadByte()
		ended <- err
	}()
	open(t, Options{Node: "a", URL: "nats://" + l.Addr().String(), TLS: testcert.Client(t)})
	if <-ended == nil {
		t.Error("it begins TLS")
	}
}

// The certificate is for the name that was dialed, and of a server that another has named by its IP address for
// that one's name.
func TestNamesOfOutsideServers(t *testing.T) {
	d := dialer{urls: "nats://nats.example:4222,nats://192.0.2.7:4222", tls: &tls.Config{}}
	for _, c := range []struct{ address, want string }{
		{"192.0.2.8:4222", "192.0.2.8"}, {"nats.example:4222", "nats.example"}, {"192.0.2.8:4222", "nats.example"}, {"192.0.2.7:4222", "192.0.2.7"}, {"[2001:db8::1]:4222", "nats.example"},
	} {
		if got := d.server(c.address); got != c.want {
			t.Errorf("%s: %q, want %q", c.address, got, c.want)
		}
	}
}
