package relay

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// dialFrom connects from a local address.
func dialFrom(t *testing.T, ip, address string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}, Timeout: relayWait}).Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(relayWait))
	return conn
}

// askOn makes a request on a connection and returns the status.
func askOn(conn net.Conn) (int, error) {
	if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		return 0, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Body.Close()
}

// Silent HTTP connections of one address have a share of the places: others are
// served at once, and the address itself when its silent ones have given way.
func TestSilentHTTPConnectionsShutNobodyOut(t *testing.T) {
	s, secure, _, _ := startTLS(t, func(c *relayConfig) { c.MaxHandshakes, c.MaxHandshakesPerAddress = 8, 6 })
	for _, address := range []string{s.http, secure} {
		var silent []net.Conn
		for range 16 {
			silent = append(silent, dialFrom(t, "127.0.0.2", address))
		}
		relayEventually(t, "its places are taken", func() bool {
			n := s.web.Arrivals.Stats()
			return n.On == 6 && n.Waiting == 10
		})
		ask := func(ip string) {
			t.Helper()
			conn := dialFrom(t, ip, address)
			if address == secure {
				conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
			}
			if status, err := askOn(conn); err != nil || status != 200 {
				t.Errorf("from %s: %d, %v", ip, status, err)
			}
			conn.Close()
		}
		before := s.web.Arrivals.Stats().GaveWay
		ask("127.0.0.3")
		if n := s.web.Arrivals.Stats().GaveWay; n != before {
			t.Errorf("another address was served after %d had given way", n-before)
		}
		s.web.Arrivals.SetQuiet(rtmpQuiet)
		ask("127.0.0.2")
		relayEventually(t, "all have given way or been closed", func() bool {
			n := s.web.Arrivals.Stats()
			return n.Waiting == 0 && n.On <= 6 && n.GaveWay > before
		})
		for _, conn := range silent {
			conn.Close()
		}
		relayEventually(t, "none is left", func() bool { return s.web.Arrivals.Stats().On == 0 })
		s.web.Arrivals.SetQuiet(relayWait)
	}
}

// Connections between two requests count too: above the share they are closed
// after their answer. A trusted proxy's do not, since many clients share them.
func TestIdleHTTPConnectionsCount(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		s := startRelay(t, func(c *relayConfig) {
			if c.MaxHandshakesPerAddress = 3; trusted {
				c.TrustedProxies = []string{"127.0.0.2"}
			}
		})
		s.web.Arrivals.SetQuiet(rtmpQuiet)
		var idle []net.Conn
		for range 12 {
			conn := dialFrom(t, "127.0.0.2", s.http)
			if status, err := askOn(conn); err != nil || status != 200 {
				t.Fatalf("%d, %v", status, err)
			}
			idle = append(idle, conn)
		}
		again := 0
		for _, conn := range idle {
			if status, err := askOn(conn); err == nil && status == 200 {
				again++
			}
		}
		// Between two requests on a busy machine one may have given its place to another.
		if trusted && again != 12 || !trusted && again > 6 || !trusted && again == 0 {
			t.Errorf("trusted %v: %d connections took a second request", trusted, again)
		}
		for _, conn := range idle {
			conn.Close()
		}
		relayEventually(t, fmt.Sprintf("trusted %v: no place is left", trusted), func() bool { return s.web.Arrivals.Stats().On == 0 })
	}
}
