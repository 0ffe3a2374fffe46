package relay

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtspauth"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/rtsp"
)

// A publisher that sets up a track again means that track, and no other.
func TestRTSPTrackSetUpTwice(t *testing.T) {
	s := rtspServe(t, nil)
	x := rtspDial(t, s)
	f := rtspFormat(t)
	p, err := rtpmedia.Describe("s", false, []rtpmedia.Format{f, f})
	if err != nil {
		t.Fatal(err)
	}
	x.must(200, "ANNOUNCE", "live/s", string(p), rtspSDP)
	x.must(200, "SETUP", "live/s/trackID=0", "", "Transport: RTP/AVP/TCP;unicast;interleaved=4-5;mode=record")
	if h := x.must(200, "SETUP", "live/s/trackID=0", "", "Transport: RTP/AVP/TCP;unicast;interleaved=6-7;mode=record"); !strings.Contains(h.Get("Transport"), "interleaved=6-7") {
		t.Errorf("again: %s", h.Get("Transport"))
	}
	// Channels that the first track has left are free for the other one.
	if h := x.must(200, "SETUP", "live/s/trackID=1", "", "Transport: RTP/AVP/TCP;unicast;interleaved=4-5;mode=record"); !strings.Contains(h.Get("Transport"), "interleaved=4-5") {
		t.Errorf("the other track: %s", h.Get("Transport"))
	}
	x.must(404, "SETUP", "live/s/trackID=7", "", rtspTCP+";mode=record")
	x.must(200, "RECORD", "live/s", "")
}

// What a client requires, and the server has not, is named (RFC 2326, section 12.32). The
// connection goes on.
func TestRTSPRequire(t *testing.T) {
	s := rtspServe(t, nil)
	x := rtspDial(t, s)
	for _, c := range []struct{ fields, want string }{
		{"Require: www.onvif.org/ver20/backchannel", "www.onvif.org/ver20/backchannel"},
		{"Proxy-Require: gzip", "gzip"},
		{"Require: a, ,b\r\nRequire: c\r\nProxy-Require: d", "a, b, c, d"},
	} {
		for _, method := range []string{"OPTIONS", "DESCRIBE", "ANNOUNCE", "SETUP", "PLAY"} {
			if h := x.must(551, method, "live/s", "", c.fields); h.Get("Unsupported") != c.want {
				t.Errorf("%s, %q: unsupported is %q", method, c.fields, h.Get("Unsupported"))
			}
		}
	}
	x.must(200, "ANNOUNCE", "live/s", rtspDescription(t), rtspSDP, "Require: ")
}

// A client of RTSP 2.0 gets the version that there is, and goes on with it on the same connection (RFC 7826,
// section 17.5.6).
func TestRTSPOtherVersions(t *testing.T) {
	s := rtspServe(t, nil)
	x := rtspDial(t, s)
	for n := 1; n <= 3; n++ {
		fmt.Fprintf(x.conn, "OPTIONS %s RTSP/2.0\r\nCSeq: %d\r\nRequire: play.basic\r\n\r\n", x.url("live/s"), n)
		item, err := x.r.Read()
		if err != nil || item.Response == nil {
			t.Fatalf("%+v, %v", item, err)
		}
		if r := item.Response; r.Status != 505 || r.Version != rtsp.Version10 || r.Header.Get("CSeq") != fmt.Sprint(n) {
			t.Errorf("%+v", r)
		}
		item.Release()
	}
	x.must(200, "OPTIONS", "live/s", "")
}

// DESCRIBE is answered at any time, and changes nothing (RFC 2326, appendix A); another stream's is not.
// PLAY says the speed that there is, and the tracks, also when it names one.
func TestRTSPDescribedAgain(t *testing.T) {
	s := rtspServe(t, nil)
	p := rtspDial(t, s)
	send := p.record("live/s")
	send(5)
	p.must(455, "DESCRIBE", "live/s", "")
	rtmpUntil(t, "the stream has frames", func() bool { return rtspFrames(s, "live/s") >= 5 })
	v := rtspDial(t, s)
	described := func() {
		t.Helper()
		h := v.must(200, "DESCRIBE", "live/s", "")
		if h.Get("Content-Type") != "application/sdp" || !strings.HasSuffix(h.Get("Content-Base"), "/live/s/") {
			t.Errorf("%v", h)
		}
		v.must(455, "DESCRIBE", "live/other", "")
	}
	described()
	described()
	v.must(200, "SETUP", "live/s/trackID=0", "", rtspTCP)
	described()
	h := v.must(200, "PLAY", "live/s/trackID=0", "", "Range: npt=0.000-", "Scale: 2.0", "Speed: 3")
	if h.Get("Scale") != "1.0" || h.Get("Speed") != "1.0" || h.Get("RTP-Info") != "url="+v.url("live/s/trackID=0") {
		t.Errorf("%v", h)
	}
	described()
	if h := v.must(200, "PLAY", "live/s", ""); h.Get("Scale") != "" {
		t.Errorf("%v", h)
	}
	send(5)
	v.packet()
	v.must(200, "TEARDOWN", "live/s", "")
	v.ends()
	p.must(200, "TEARDOWN", "live/s", "")
	p.ends()
	rtmpUntil(t, "nothing is left of the viewer", func() bool { return s.host.Register.Number(session.RoleViewer) == 0 })
}

// A client that knows the password is not asked for it again when only its nonce is
// another connection's (RFC 2617, section 3.2.1).
func TestRTSPStaleNonce(t *testing.T) {
	secret := strings.Repeat("s", access.MinSecret)
	s := rtspServe(t, func(c *relayConfig) { c.Protect, c.TokenSecret = []string{"publish"}, secret })
	token := access.SignID([]byte(secret), access.Publish, "live/s", "cam", time.Now().Add(time.Hour))
	user := token[:strings.LastIndexByte(token, '.')]
	x := rtspDial(t, s)
	try := func(field string) (status int, challenge map[string]string) {
		status, h := x.ask("ANNOUNCE", "live/s", rtspDescription(t), rtspSDP, field)
		for _, text := range h.Values("WWW-Authenticate") {
			if rest, ok := strings.CutPrefix(text, "Digest "); ok {
				return status, rtspauth.Params(rest)
			}
		}
		return status, nil
	}
	answer := func(user, password string, challenge map[string]string) string {
		return "Authorization: Digest " + rtspauth.Answer(user, password, "ANNOUNCE", x.url("live/s"), challenge, 1)
	}
	old := map[string]string{"realm": "sluice", "nonce": "of an hour ago"}
	for what, field := range map[string]string{
		"no credentials":   "X: y",
		"another password": answer(user, "x", old),
		"another stream's": answer(access.SignID([]byte(secret), access.Publish, "live/other", "cam", time.Now().Add(time.Hour)), token, old),
		"of another realm": answer(user, token, map[string]string{"realm": "r", "nonce": "n"}),
	} {
		if status, challenge := try(field); status != 401 || challenge["stale"] != "" {
			t.Errorf("%s: %d, %v", what, status, challenge)
		}
	}
	x = rtspDial(t, s)
	status, challenge := try(answer(user, token, old))
	if status != 401 || !strings.EqualFold(challenge["stale"], "true") || challenge["nonce"] == old["nonce"] {
		t.Errorf("an old nonce: %d, %v", status, challenge)
	}
	if status, challenge := try(answer(user, "x", challenge)); status != 401 || challenge["stale"] != "" {
		t.Errorf("another password for the new nonce: %d, %v", status, challenge)
	}
	if status, _ := try(answer(user, token, challenge)); status != 200 {
		t.Errorf("the new nonce: %d", status)
	}
}

// A viewer that pauses is sent no media until it plays again, and both are answered among
// what is sent.
func TestRTSPPause(t *testing.T) {
	s := rtspServe(t, nil)
	p := rtspDial(t, s)
	send := p.record("live/s")
	send(5)
	rtmpUntil(t, "the stream has frames", func() bool { return rtspFrames(s, "live/s") >= 5 })
	v := rtspDial(t, s)
	v.must(455, "PAUSE", "live/s", "")
	v.must(200, "DESCRIBE", "live/s", "")
	v.must(200, "SETUP", "live/s/trackID=0", "", rtspTCP)
	v.must(455, "PAUSE", "live/s", "")
	v.must(200, "PLAY", "live/s", "")
	latest := uint16(0)
	media := func(n int) {
		t.Helper()
		for n > 0 {
			item, err := v.r.Read()
			if err != nil {
				t.Fatal(err)
			}
			if item.Request == nil && item.Response == nil && item.Interleaved.Channel == 0 {
				n--
				number := binary.BigEndian.Uint16(item.Interleaved.Payload.Bytes()[2:])
				if latest != 0 && int16(number-latest) <= 0 {
					t.Errorf("packet %d comes behind %d", number, latest)
				}
				latest = number
			}
			item.Release()
		}
	}
	send(5)
	media(1)
	frames := int64(10)
	for range 3 {
		v.must(200, "PAUSE", "live/s", "")
		v.must(200, "PAUSE", "live/s", "")
		send(20)
		frames += 20
		rtmpUntil(t, "they have come", func() bool { return rtspFrames(s, "live/s") >= frames })
		// The answer is the next thing on the connection.
		v.cseq++
		io.WriteString(v.conn, fmt.Sprintf("GET_PARAMETER %s RTSP/1.0\r\nCSeq: %d\r\n\r\n", v.url("live/s"), v.cseq))
		item, err := v.r.Read()
		if err != nil || item.Response == nil {
			t.Fatalf("behind PAUSE comes %+v, %v", item, err)
		}
		item.Release()
		v.must(200, "PLAY", "live/s", "")
		send(5)
		frames += 5
		media(1)
	}
	v.must(200, "TEARDOWN", "live/s", "")
	v.ends()
	p.must(200, "TEARDOWN", "live/s", "")
}

// A publisher may pause, go on, and say that it is done while it pauses, as GStreamer's
// does when its file ends (RFC 2326, appendix A.2).
func TestRTSPPublisherPauses(t *testing.T) {
	s := rtspServe(t, nil)
	p := rtspDial(t, s)
	p.must(455, "PAUSE", "live/s", "")
	send := p.record("live/s")
	send(5)
	p.must(200, "PAUSE", "live/s", "")
	p.must(200, "PAUSE", "live/s", "")
	p.must(200, "RECORD", "live/s", "")
	send(5)
	rtmpUntil(t, "all frames are in the stream", func() bool { return rtspFrames(s, "live/s") >= 10 })
	p.must(200, "PAUSE", "live/s", "")
	p.must(200, "TEARDOWN", "live/s", "")
	p.ends()
}

// Ports that no datagrams can go to are refused, and the connection goes on.
func TestRTSPOddPorts(t *testing.T) {
	s := rtspServe(t, func(c *relayConfig) { c.RTSPUDP = "127.0.0.1:0" })
	p := rtspDial(t, s)
	send := p.record("live/s")
	send(5)
	rtmpUntil(t, "the stream has frames", func() bool { return rtspFrames(s, "live/s") >= 5 })
	for ports, want := range map[string][]int{
		"client_port=0-1":         {400, 461},
		"client_port=70000-70001": {400},
		"client_port=5001-5000":   {200, 400, 461},
		"client_port=5000-":       {400},
		"client_port=-1-0":        {400},
		"client_port=x":           {400},
		"client_port=":            {400, 461},
		"port=5000-5001":          {461},
		"client_port=65535":       {200, 461},
		"client_port=5000-5000":   {200},
	} {
		v := rtspDial(t, s)
		v.must(200, "DESCRIBE", "live/s", "")
		status, h := v.ask("SETUP", "live/s/trackID=0", "", "Transport: RTP/AVP;unicast;"+ports)
		if !slices.Contains(want, status) {
			t.Errorf("%s: %d %v, want %v", ports, status, h, want)
		}
		if status == 200 {
			v.must(200, "PLAY", "live/s", "")
			send(2)
		}
		v.must(200, "TEARDOWN", "live/s", "")
		v.ends()
	}
	send(5)
}

// An address that cannot be read may have a token in it, or a password: neither the log nor the
// answer has them.
func TestRTSPAddressesThatAreNone(t *testing.T) {
	s := startRelay(t, withRTSP)
	for _, address := range []string{"rtsp://u:hidden@h/live/%zz?token=hidden", "rtsp://h:x/s?token=hidden"} {
		conn, err := net.Dial("tcp", s.Addresses()["rtsp"])
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for _, method := range []string{"DESCRIBE", "ANNOUNCE", "SETUP"} {
			fmt.Fprintf(conn, "%s %s RTSP/1.0\r\nCSeq: 1\r\nTransport: RTP/AVP/TCP\r\nContent-Type: application/sdp\r\n\r\n", method, address)
		}
		conn.(*net.TCPConn).CloseWrite()
		answer, err := io.ReadAll(conn)
		if err != nil || strings.Contains(string(answer), "hidden") {
			t.Errorf("%q: %q %v", address, answer, err)
		}
	}
	s.log.line(t, "viewer refused", "protocol=rtsp", "address=127.0.0.1")
	if strings.Contains(s.log.String(), "hidden") {
		t.Error("it is in the log")
	}
}
