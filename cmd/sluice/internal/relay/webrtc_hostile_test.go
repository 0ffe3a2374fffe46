package relay

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/stun/v4"
	pion "github.com/pion/webrtc/v4"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// deadOffer is an offer of a client that makes no media connection.
func deadOffer(t *testing.T) string {
	t.Helper()
	p, err := os.ReadFile("webrtc/testdata/offer.sdp")
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(p), "\n", "\r\n")
}

func TestWebRTCRequests(t *testing.T) {
	s := rtcServe(t, func(c *relayConfig) {
		c.CORS = []string{"https://a.example"}
		c.ICEServers, c.TURNSecret = []string{"stun:stun.example.com", "turn:turn.example.com"}, "secret"
		c.WebRTCAddress = []string{"192.0.2.9"}
	})
	p := s.publishing(t, "/live/s.flv")
	tags := flvtest.Clip(t)
	p.send(t, tags[:len(tags)/2]...)
	s.streaming(t, "live/s")
	offer := deadOffer(t)
	ask := func(want int, method, path, body string, fields ...string) http.Header {
		t.Helper()
		status, header, text := s.rtcAsk(t, method, path, body, fields...)
		if status != want {
			t.Errorf("%s %s %v: %d %s, want %d", method, path, fields, status, text, want)
		}
		return header
	}
	ask(415, "POST", "/live/s/whep", offer, "Content-Type: text/plain")
	ask(413, "POST", "/live/s/whep", strings.Repeat("a", 70<<10))
	ask(400, "POST", "/live/s/whep", "v=0")
	ask(400, "POST", "/live/whep", offer)
	ask(400, "POST", "/live/../s/whep", offer)
	if again := ask(404, "POST", "/live/none/whep", offer).Get("Retry-After"); again != "2" {
		t.Errorf("a stream that is not there may be asked for after %q s", again)
	}
	ask(400, "POST", "/live/s/whep?wait=x", offer)
	for _, method := range []string{"PUT", "DELETE", "PATCH"} {
		if h := ask(405, method, "/live/s/whep", ""); h.Get("Allow") != "GET, HEAD, POST, OPTIONS" {
			t.Errorf("%s: Allow %q", method, h.Get("Allow"))
		}
	}
	for _, method := range []string{"GET", "HEAD"} { // RFC 9725, section 4.1
		ask(204, method, "/live/s/whep", "")
		ask(204, method, "/live/none/whip", "")
	}
	ask(406, "POST", "/live/s/whip", offer) // it sends nothing
	ask(409, "POST", "/live/s/whip?key=other", strings.ReplaceAll(offer, "recvonly", "sendonly"))
	onlyVP8 := regexp.MustCompile(`H264|VP9|AV1`).ReplaceAllString(strings.ReplaceAll(offer, "recvonly", "sendonly"), "VP8")
	ask(406, "POST", "/live/t/whip", onlyVP8) // no publisher by its sound alone that means to send pictures
	s.log.line(t, "publisher refused", "no codec in common for pictures: the offer sends VP8")
	ask(406, "POST", "/live/s/whep", strings.ReplaceAll(offer, "H264", "H263"))
	s.log.line(t, "viewer refused", "the stream has [avc1 mp4a], the offer takes")

	// Pages of other origins watch where cors allows it, and do not publish.
	ask(403, "POST", "/live/s/whep", offer, "Origin: https://b.example")
	ask(403, "POST", "/live/t/whip", offer, "Origin: https://a.example")
	if h := ask(204, "OPTIONS", "/live/s/whep", "", "Origin: https://a.example", "Access-Control-Request-Method: POST"); h.Get("Access-Control-Allow-Origin") != "https://a.example" ||
		!strings.Contains(h.Get("Access-Control-Allow-Headers"), "Authorization") || h.Get("Accept-Post") != "application/sdp" {
		t.Errorf("preflight: %v", h)
	}
	if h := ask(204, "OPTIONS", "/live/s/whip", "", "Origin: https://a.example", "Access-Control-Request-Method: POST"); h.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("preflight of WHIP: %v", h)
	}

	status, h, answer := s.rtcAsk(t, "POST", "/live/s/whep", offer, "Origin: https://a.example")
	if status != 201 || h.Get("Content-Type") != "application/sdp" || h.Get("ETag") == "" || len(h.Values("Link")) != 2 || h.Get("Access-Control-Allow-Origin") != "https://a.example" {
		t.Fatalf("%d %v %s", status, h, answer)
	}
	port := s.Addresses()["webrtc"][strings.LastIndexByte(s.Addresses()["webrtc"], ':')+1:]
	if !strings.Contains(answer, " 192.0.2.9 "+port+" typ host\r\n") || !strings.Contains(answer, " tcp ") || strings.Contains(answer, "127.0.0.1 ") || !strings.Contains(answer, "a=ice-lite") {
		t.Errorf("the answer is %s", answer)
	}
	session, tag := h.Get("Location"), h.Get("ETag")
	if !strings.HasPrefix(session, "/live/s/whep/") || len(session) < len("/live/s/whep/")+26 {
		t.Fatalf("Location %q", session)
	}
	const fragment = "Content-Type: application/trickle-ice-sdpfrag"
	ask(204, "PATCH", session, "a=candidate:1 1 udp 1 192.0.2.1 1 typ host\r\n", fragment, "If-Match: "+tag)
	ask(204, "PATCH", session, "\r\na=end-of-candidates\n", fragment, `If-Match: "x" , `+tag)
	ask(204, "GET", session, "")
	ask(400, "PATCH", session, "candidates", fragment, "If-Match: "+tag)
	ask(412, "PATCH", session, "", fragment, `If-Match: "x"`)
	ask(422, "PATCH", session, "a=ice-ufrag:new\r\na=ice-pwd:new\r\n", fragment, `If-Match: "*"`) // as RFC 9725 writes it
	ask(428, "PATCH", session, "", fragment)
	ask(422, "PATCH", session, "a=ice-ufrag:new\r\na=ice-pwd:new\r\n", fragment, "If-Match: *")
	ask(415, "PATCH", session, "", "Content-Type: application/sdp", "If-Match: "+tag)
	ask(413, "PATCH", session, strings.Repeat("a=candidate:1\r\n", 4000), fragment, "If-Match: "+tag)
	ask(405, "POST", session, offer)
	ask(404, "DELETE", "/live/t/whep/"+session[len("/live/s/whep/"):], "")
	ask(404, "DELETE", "/live/s/whip/"+session[len("/live/s/whep/"):], "")
	ask(404, "DELETE", "/live/s/whep/"+strings.Repeat("0", 32), "")
	ask(200, "DELETE", session, "")
	ask(404, "DELETE", session, "")
	ask(404, "PATCH", session, "", fragment, "If-Match: "+tag)
	ask(404, "GET", session, "")
	relayEventually(t, "no session", func() bool { f := s.webrtc.Figures(); return f.Sessions == 0 && f.Pending == 0 })
	p.Close()
}

// A body without an end is cut off.
func TestWebRTCBodyWithoutEnd(t *testing.T) {
	s := rtcServe(t, func(c *relayConfig) { c.times.Request = time.Second })
	_, r := s.raw(t, "POST /live/s/whip HTTP/1.1\nHost: a\nContent-Type: application/sdp\nContent-Length: 1000\n\nv=0\n")
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return // closed
	}
	defer resp.Body.Close()
	if resp.StatusCode != 400 {
		t.Errorf("%s", resp.Status)
	}
}

func TestWebRTCTokens(t *testing.T) {
	secret := strings.Repeat("s", access.MinSecret)
	s := rtcServe(t, func(c *relayConfig) { c.Protect, c.TokenSecret = []string{"publish", "play"}, secret })
	token := func(a access.Action, stream, id string) string {
		return access.SignID([]byte(secret), a, stream, id, time.Now().Add(time.Hour))
	}
	offer := strings.ReplaceAll(deadOffer(t), "recvonly", "sendonly")
	for _, bearer := range []string{"", "x", token(access.Play, "live/s", "a"), token(access.Publish, "live/t", "a")} {
		status, h, text := s.rtcAsk(t, "POST", "/live/s/whip", offer, "Authorization: Bearer "+bearer)
		if status != 401 || !strings.HasPrefix(h.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("bearer %q: %d %v %s", bearer, status, h, text)
		}
	}
	mine := "Authorization: Bearer " + token(access.Publish, "live/s", "mine")
	status, h, text := s.rtcAsk(t, "POST", "/live/s/whip", offer, mine)
	if status != 201 {
		t.Fatalf("%d %s", status, text)
	}
	for _, other := range []string{"X: y", "Authorization: Bearer " + token(access.Publish, "live/s", "other")} {
		if status, _, _ := s.rtcAsk(t, "DELETE", h.Get("Location"), "", other); status != 404 {
			t.Errorf("a session is ended with %q: %d", other, status)
		}
	}
	if status, _, _ := s.rtcAsk(t, "DELETE", h.Get("Location"), "", mine); status != 200 {
		t.Errorf("its own client cannot end it: %d", status)
	}
}

// Sessions without media have a deadline, and are bounded for each address.
func TestWebRTCWithoutMedia(t *testing.T) {
	s := rtcServe(t, func(c *relayConfig) {
		c.MaxHandshakesPerAddress = 2
		c.times.Header = 2 * time.Second
	})
	offer := strings.ReplaceAll(deadOffer(t), "recvonly", "sendonly")
	taken, full := 0, 0
	for i := range 3 {
		status, h, _ := s.rtcAsk(t, "POST", fmt.Sprintf("/live/s%d/whip", i), offer)
		switch status {
		case 201:
			taken++
		case 503:
			full++
			if h.Get("Retry-After") == "" {
				t.Error("503 without Retry-After")
			}
		}
	}
	if taken < 2 || taken+full != 3 {
		t.Errorf("%d taken, %d refused", taken, full)
	}
	s.log.line(t, "publisher refused", "protocol=whip", "was not made in time")
	relayEventually(t, "no session", func() bool { f := s.webrtc.Figures(); return f.Sessions == 0 && f.Pending == 0 })
	if _, ok := s.host.Hub.Stream("live/s0"); ok {
		t.Error("the stream is still there")
	}
}

// Packets of strangers change nothing for those who are there, and connections that say
// nothing or nonsense are closed.
func TestWebRTCFloods(t *testing.T) {
	strict := func(c *relayConfig) { c.MaxHandshakesPerAddress = 8 }
	soon := rtcServe(t, func(c *relayConfig) { // where connections without media end soon
		strict(c)
		c.times.Header = time.Second
	})
	s := rtcServe(t, strict)
	flood, err := net.Dial("udp", s.Addresses()["webrtc"])
	if err != nil {
		t.Fatal(err)
	}
	defer flood.Close()
	check, err := stun.Build(stun.TransactionID, stun.BindingRequest, stun.NewUsername("none:none"), stun.NewShortTermIntegrity("none"), stun.Fingerprint)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2000 {
		flood.Write(check.Raw)
		flood.Write([]byte{128, 96, byte(i >> 8), byte(i), 0, 0, 0, 0, 0, 0, 0, 0, 1})
		flood.Write([]byte{22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0})
	}
	relayEventually(t, "strangers are counted", func() bool { return s.webrtc.Figures().Strangers > 0 })
	var conns []net.Conn
	for i := range 40 {
		conn, err := net.Dial("tcp", soon.Addresses()["webrtc"])
		if err != nil {
			continue
		}
		defer conn.Close()
		switch i % 3 {
		case 0:
			conn.Write([]byte{0, 20, 1, 2, 3})
		case 1:
			conn.Write(append([]byte{0, byte(len(check.Raw))}, check.Raw...))
		}
		conns = append(conns, conn)
	}
	for i, conn := range conns {
		conn.SetReadDeadline(time.Now().Add(relayWait))
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("connection %d has an answer", i)
		} else if e, ok := err.(net.Error); ok && e.Timeout() {
			t.Errorf("connection %d is kept", i)
		}
	}
	p := s.publishing(t, "/live/s.flv")
	tags := flvtest.Clip(t)
	p.send(t, tags[:len(tags)/2]...)
	s.streaming(t, "live/s")
	v := s.rtcWatch(t, "/live/s/whep", rtcOptions{})
	relayEventually(t, "pictures", func() bool { return len(v.got(true)) > 0 })
	for range 500 {
		flood.Write(check.Raw)
	}
	before := len(v.got(true))
	next := p.repeat(tags[len(tags)/2:])
	relayEventually(t, "more pictures", func() bool {
		next(t)
		return len(v.got(true)) > before+20
	})

	// One that is ended by the API hears of it.
	id := ""
	for _, c := range s.host.Register.List() {
		if c.Protocol == "whep" {
			id = c.ID
		}
	}
	c, ok := s.host.Register.Get(id)
	if !ok {
		t.Fatalf("no viewer %q", id)
	}
	c.Stop(fmt.Errorf("kicked by the test"))
	v.until(pion.PeerConnectionStateClosed)
	s.log.line(t, "viewer ended", "protocol=whep", "kicked by the test")
	p.Close()
}

// Without its setting there is no WebRTC.
func TestWebRTCOff(t *testing.T) {
	s := startRelay(t, nil)
	if s.Addresses()["webrtc"] != "" {
		t.Error("it listens")
	}
	if status, _, _ := s.rtcAsk(t, "POST", "/live/s/whip", deadOffer(t)); status != 404 {
		t.Errorf("an offer is answered with %d", status)
	}
}

// What a connection over TCP begins with is for a session, or it is closed before it sends
// more, which would be kept.
func TestWebRTCOverTCPForNoSession(t *testing.T) {
	s := rtcServe(t, func(c *relayConfig) { c.times.Header = 10 * relayWait })
	for _, name := range []string{"none:none", ":", "none", strings.Repeat("n", 400)} {
		check, err := stun.Build(stun.TransactionID, stun.BindingRequest, stun.NewUsername(name), stun.NewShortTermIntegrity("none"), stun.Fingerprint)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", s.Addresses()["webrtc"])
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		p := append([]byte{byte(len(check.Raw) >> 8), byte(len(check.Raw))}, check.Raw...)
		conn.Write(p[:1]) // in pieces
		conn.Write(p[1:30])
		conn.Write(p[30:])
		conn.SetReadDeadline(time.Now().Add(relayWait))
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("%.10s has an answer", name)
		} else if e, ok := err.(net.Error); ok && e.Timeout() {
			t.Errorf("%.10s is kept", name)
		}
	}
}

// A session is of a client at some addresses: each new one that a check comes from is
// remembered, and a client makes checks from as many as it likes, or from forged ones.
func TestWebRTCChecksFromManyAddresses(t *testing.T) {
	s := rtcServe(t, nil)
	status, _, answer := s.rtcAsk(t, "POST", "/live/s/whip", strings.ReplaceAll(deadOffer(t), "recvonly", "sendonly"))
	if status != 201 {
		t.Fatal(status, answer)
	}
	value := func(name string) string {
		_, rest, _ := strings.Cut(answer, "a="+name+":")
		v, _, _ := strings.Cut(rest, "\r\n")
		return v
	}
	check, err := stun.Build(stun.TransactionID, stun.BindingRequest, stun.NewUsername(value("ice-ufrag")+":test"),
		ice.PriorityAttr(1), ice.AttrControlling(1), stun.NewShortTermIntegrity(value("ice-pwd")), stun.Fingerprint)
	if err != nil {
		t.Fatal(err)
	}
	dial := func() net.Conn {
		c, err := net.Dial("udp", s.Addresses()["webrtc"])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	// answered sends a check, and others from the address that has answers, until either is
	// answered.
	first := dial()
	p := make([]byte, 1500)
	answered := func(c net.Conn) bool {
		for range 100 {
			c.Write(check.Raw)
			if c != first {
				first.Write(check.Raw)
				first.SetReadDeadline(time.Now().Add(relayWait))
				if _, err := first.Read(p); err != nil {
					t.Fatal("the first address is answered no more:", err)
				}
			}
			c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			if _, err := c.Read(p); err == nil {
				return true
			}
			if c != first {
				return false
			}
		}
		return false
	}
	if !answered(first) {
		t.Fatal("no answer")
	}
	n := 0
	for range 400 {
		if answered(dial()) {
			n++
		}
	}
	if n == 0 || n > 256 {
		t.Errorf("%d other addresses of 400 have an answer", n)
	}
}

// A session of WHEP takes memory that is not counted: there is none when memory is short.
func TestWHEPWhenMemoryIsShort(t *testing.T) {
	s := rtcServe(t, nil)
	var short atomic.Bool
	s.host.Room = func() error {
		if short.Load() {
			return fmt.Errorf("%w: max-memory", session.ErrFull)
		}
		return nil
	}
	p := s.publishing(t, "/live/s.flv")
	tags := flvtest.Clip(t)
	p.send(t, tags[:len(tags)/2]...)
	s.streaming(t, "live/s")
	short.Store(true)
	status, _, answer := s.rtcAsk(t, "POST", "/live/s/whep", deadOffer(t))
	if status != http.StatusServiceUnavailable || !strings.Contains(answer, "max-memory") {
		t.Errorf("%d, %s", status, answer)
	}
	s.log.line(t, "viewer refused", "protocol=whep", "max-memory")
}
