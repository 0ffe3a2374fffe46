package relay

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

// Clients of one address that stop half way through an offer have a share of the memory for
// requests: others are served at once, and the address itself when those have given way.
func TestHalvesOfOffersShutNobodyOut(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.WebRTC = "127.0.0.1:0" })
	s.web.Texts.SetQuiet(relayWait)
	var halves []net.Conn
	for range 24 {
		conn := dialFrom(t, "127.0.0.2", s.http)
		if _, err := io.WriteString(conn, "POST /live/a/whip HTTP/1.1\r\nHost: a\r\nContent-Type: application/sdp\r\nContent-Length: 60000\r\n\r\n"+strings.Repeat("v", 50000)); err != nil {
			t.Fatal(err)
		}
		halves = append(halves, conn)
	}
	relayEventually(t, "its places are taken", func() bool {
		n := s.web.Texts.Stats()
		return n.On == 8 && n.Waiting == 16
	})
	if status, _ := s.get(t, "/metrics"); status != http.StatusOK {
		t.Errorf("another address: %d", status)
	}
	if n := s.web.Texts.Stats().GaveWay; n != 0 {
		t.Errorf("another address was served after %d had given way", n)
	}
	s.web.Texts.SetQuiet(rtmpQuiet)
	conn := dialFrom(t, "127.0.0.2", s.http)
	if _, err := io.WriteString(conn, "GET /api/streams HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("the address itself: %v, %v", resp, err)
	}
	for _, conn := range halves {
		conn.Close()
	}
	relayEventually(t, "none is left", func() bool { return s.web.Texts.Stats().On == 0 })
	if n := strings.Count(s.log.String(), "requests are ended that others wait for"); n != 1 {
		t.Errorf("%d lines in the log say that requests were ended", n)
	}
	if _, text := s.get(t, "/metrics"); !strings.Contains(text, "\nsluice_http_requests_displaced_total ") || strings.Contains(text, "\nsluice_http_requests_displaced_total 0\n") {
		t.Error("the metrics do not have those that were ended")
	}
}

// Clients that send a byte of an offer now and then give way to others as those do that send nothing.
func TestOffersByTheByteShutNobodyOut(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.WebRTC = "127.0.0.1:0" })
	const quiet = rtmpQuiet / 4
	s.web.Texts.SetQuiet(quiet)
	done := make(chan struct{})
	var sending sync.WaitGroup
	defer sending.Wait()
	defer close(done)
	for range 8 {
		conn := dialFrom(t, "127.0.0.2", s.http)
		if _, err := io.WriteString(conn, "POST /live/a/whip HTTP/1.1\r\nHost: a\r\nContent-Type: application/sdp\r\nContent-Length: 60000\r\n\r\nv"); err != nil {
			t.Fatal(err)
		}
		sending.Go(func() {
			now := time.NewTicker(quiet / 8)
			defer now.Stop()
			for err := error(nil); err == nil; _, err = conn.Write([]byte("a")) {
				select {
				case <-now.C:
				case <-done:
					return
				}
			}
		})
	}
	relayEventually(t, "the places are taken", func() bool { return s.web.Texts.Stats().On == 8 })
	conn := dialFrom(t, "127.0.0.2", s.http)
	if _, err := io.WriteString(conn, "GET /api/streams HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%v, %v", resp, err)
	}
}

// An offer that has come and waits for a place is not late, for as long as it waits.
func TestOfferThatWaitsForAPlaceIsNotLate(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.WebRTC, c.times.Request = "127.0.0.1:0", 200*time.Millisecond })
	s.web.Texts.SetQuiet(10 * relayWait)
	var leave []func()
	for range 8 {
		place, err := s.web.Texts.Enter(t.Context(), netip.MustParseAddr("127.0.0.2"), func(error) {})
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, place.Leave)
	}
	offer := strings.ReplaceAll(deadOffer(t), "recvonly", "sendonly")
	post := func(from string, size int) net.Conn {
		conn := dialFrom(t, from, s.http)
		if _, err := fmt.Fprintf(conn, "POST /live/a/whip HTTP/1.1\r\nHost: a\r\nContent-Type: application/sdp\r\nContent-Length: %d\r\n\r\n%s", size, offer); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	waits := post("127.0.0.2", len(offer))
	relayEventually(t, "the offer waits", func() bool { return s.web.Texts.Stats().Waiting == 1 })
	for range 2 { // each takes as long as an offer may
		if resp, err := http.ReadResponse(bufio.NewReader(post("127.0.0.3", len(offer)+1)), nil); err == nil && resp.StatusCode != http.StatusBadRequest {
			t.Errorf("half an offer: %s", resp.Status)
		}
	}
	for _, f := range leave {
		f()
	}
	if resp, err := http.ReadResponse(bufio.NewReader(waits), nil); err != nil || resp.StatusCode != http.StatusCreated {
		t.Errorf("%v, %v", resp, err)
	}
}
