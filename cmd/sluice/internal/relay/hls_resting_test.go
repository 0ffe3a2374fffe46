package relay

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net"
	"testing"
	"time"
)

// Connections of players of HLS keep on between two requests, however few places there are for
// handshakes: two for each viewer, and those that have a place.
func TestHLSConnectionsOutlastTheirAnswers(t *testing.T) {
	const viewers, share = 6, 2
	s, secure, _, _ := startTLS(t, func(c *relayConfig) {
		c.GOPTime, c.MaxHandshakesPerAddress = 10*time.Minute, share
	})
	s.hls.Times.Start, s.hls.Times.First, s.hls.Times.Idle = relayWait, relayWait, relayWait
	s.web.Arrivals.SetQuiet(rtmpQuiet) // above the limit each connection waits for the place of one before
	f := s.feeding(t, "/live/s.flv")
	f.loop(t)
	s.awaitStream(t, "live/s")
	dial := func(encrypted bool) *httpConn {
		t.Helper()
		var conn net.Conn
		if encrypted {
			conn = tls.Client(dialFrom(t, "127.0.0.2", secure), &tls.Config{InsecureSkipVerify: true})
		} else {
			conn = dialFrom(t, "127.0.0.2", s.http)
		}
		t.Cleanup(func() { conn.Close() })
		conn.SetDeadline(time.Now().Add(relayWait))
		return &httpConn{conn, bufio.NewReader(conn)}
	}
	var conns []*httpConn
	var media string
	f.during(t, func() {
		for i := range viewers {
			c := dial(i%2 == 1)
			_, text := c.ask(t, "GET", "/live/s.m3u8", "")
			media = hlsJoin(t, "/live/s.m3u8", addressesIn(text)[0])
			if resp, _ := c.ask(t, "GET", media, ""); resp.StatusCode != 200 {
				t.Fatal(resp.Status)
			}
			conns = append(conns, c)
		}
	})
	for range 2 {
		for _, c := range conns {
			if resp, _ := c.ask(t, "GET", media, ""); resp.StatusCode != 200 {
				t.Error(resp.Status)
			}
		}
	}
	// More connections than viewers have: those above the limit are closed after their answer.
	for range 2 * viewers {
		c := dial(false)
		c.ask(t, "GET", media, "")
		conns = append(conns, c)
	}
	again := 0
	for _, c := range conns {
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", media)
		if _, err := c.r.Peek(1); err == nil {
			again++
		}
	}
	if again < 2*viewers || again > 2*viewers+share {
		t.Errorf("%d of %d connections took another request, of %d viewers", again, len(conns), viewers)
	}
	for _, c := range conns {
		c.Close()
	}
	relayEventually(t, "none is left", func() bool { return s.web.Arrivals.Stats().On == 0 && s.web.Resting() == 0 })
}
