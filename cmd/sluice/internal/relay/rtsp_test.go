package relay

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtspauth"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/rtsp"
)

// An rtspClient is a connection that makes requests.
type rtspClient struct {
	t    *testing.T
	s    *Server
	conn net.Conn
	r    *rtsp.Reader
	cseq int
	auth string // a field of each request; empty: none

	// When a server ends the connection after some time: since when, and whether it
	// has done so before an answer.
	began  time.Time
	limit  time.Duration
	late   bool
	reason string // of the latest answer
}

func rtspDial(t *testing.T, s *Server) *rtspClient {
	t.Helper()
	return rtspDialFrom(t, s, "127.0.0.1")
}

// rtspDialFrom connects from a local address.
func rtspDialFrom(t *testing.T, s *Server, ip string) *rtspClient {
	t.Helper()
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}).Dial("tcp", s.Addresses()["rtsp"])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(rtmpTimeout))
	r := sluice.NewBufReader(conn)
	t.Cleanup(r.Recycle)
	return &rtspClient{t: t, s: s, conn: conn, r: rtsp.NewReader(r, rtsp.Limits{})}
}

// url is that of a stream, or of a track of it.
func (x *rtspClient) url(path string) string { return "rtsp://" + x.s.Addresses()["rtsp"] + "/" + path }

// ask makes a request and returns the status and the header of the answer, 0 when there
// is none.
func (x *rtspClient) ask(method, path, body string, fields ...string) (int, rtsp.Header) {
	x.t.Helper()
	x.cseq++
	text := fmt.Sprintf("%s %s RTSP/1.0\r\nCSeq: %d\r\n", method, x.url(path), x.cseq)
	if x.auth != "" {
		fields = append(fields, x.auth)
	}
	for _, f := range fields {
		text += f + "\r\n"
	}
	if body != "" {
		text += fmt.Sprintf("Content-Length: %d\r\n", len(body))
	}
	if _, err := io.WriteString(x.conn, text+"\r\n"+body); err != nil {
		return 0, nil
	}
	for {
		item, err := x.r.Read()
		if err != nil {
			return 0, nil
		}
		if item.Response != nil {
			item.Release()
			x.reason = item.Response.Reason
			return item.Response.Status, item.Response.Header
		}
		item.Release()
	}
}

// must is ask for a status that has to come.
func (x *rtspClient) must(status int, method, path, body string, fields ...string) rtsp.Header {
	x.t.Helper()
	got, h := x.ask(method, path, body, fields...)
	if x.late = x.late || got == 0 && x.limit > 0 && time.Since(x.began) > x.limit; x.late {
		return nil
	}
	if got != status {
		x.t.Fatalf("%s %s: %d, want %d", method, path, got, status)
	}
	return h
}

// packet returns the next packet of the first track.
func (x *rtspClient) packet() []byte {
	x.t.Helper()
	for {
		item, err := x.r.Read()
		if err != nil {
			x.t.Fatal(err)
		}
		var p []byte
		if item.Request == nil && item.Response == nil && item.Interleaved.Channel == 0 {
			p = slices.Clone(item.Interleaved.Payload.Bytes())
		}
		item.Release()
		if p != nil {
			return p
		}
	}
}

// ends waits until the server closes the connection.
func (x *rtspClient) ends() {
	x.t.Helper()
	for {
		item, err := x.r.Read()
		if err != nil {
			if e, ok := err.(net.Error); ok && e.Timeout() {
				x.t.Error("the server does not end the connection")
			}
			return
		}
		item.Release()
	}
}

// rtspFormat is a track of G.711, which needs no configuration.
func rtspFormat(t *testing.T) rtpmedia.Format {
	t.Helper()
	f, err := rtpmedia.NewFormat(au.NewPlainConfig(flv.CodecMuLaw, 8000, 1))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func rtspDescription(t *testing.T) string {
	t.Helper()
	p, err := rtpmedia.Describe("s", false, []rtpmedia.Format{rtspFormat(t)})
	if err != nil {
		t.Fatal(err)
	}
	return string(p)
}

const (
	rtspTCP = "Transport: RTP/AVP/TCP;unicast;interleaved=0-1"
	rtspSDP = "Content-Type: application/sdp"
)

// record publishes a stream of sound over TCP, and returns a function that sends n frames.
func (x *rtspClient) record(name string) (send func(n int)) {
	x.t.Helper()
	f := rtspFormat(x.t)
	x.must(200, "ANNOUNCE", name, rtspDescription(x.t), rtspSDP)
	x.must(200, "SETUP", name+"/trackID=0", "", rtspTCP+";mode=record")
	x.must(200, "RECORD", name, "")
	m := rtpmedia.NewMuxer([]rtpmedia.Format{f})
	at := uint32(0)
	return func(n int) {
		x.t.Helper()
		for range n {
			u := au.Unit{Codec: f.Codec, Config: f.Config, Time: at, Parts: [][]byte{slices.Repeat([]byte{byte(at)}, 160)}}
			p, err := m.Append(nil, &u, time.Now())
			if err == nil {
				_, err = x.conn.Write(p)
			}
			if x.late = x.late || err != nil && x.limit > 0 && time.Since(x.began) > x.limit; x.late {
				return
			}
			if err != nil {
				x.t.Fatal(err)
			}
			at += 20
		}
	}
}

func rtspServe(t *testing.T, change func(*relayConfig)) *Server {
	return rtmpServe(t, func(c *relayConfig) {
		c.RTSP = "127.0.0.1:0"
		if change != nil {
			change(c)
		}
	})
}

func rtspFrames(s *Server, stream string) int64 {
	st, ok := s.host.Hub.Stream(stream)
	if !ok {
		return 0
	}
	return st.Stats().FramesIn
}

// One publisher's packets are made once, and go to all viewers alike.
func TestRTSPViewersShareThePackets(t *testing.T) {
	s := rtspServe(t, nil)
	p := rtspDial(t, s)
	send := p.record("live/s")
	send(5)
	rtmpUntil(t, "the stream has frames", func() bool { return rtspFrames(s, "live/s") >= 5 })
	var viewers []*rtspClient
	for range 3 {
		v := rtspDial(t, s)
		v.must(200, "DESCRIBE", "live/s", "")
		v.must(200, "SETUP", "live/s/trackID=0", "", rtspTCP)
		v.must(200, "PLAY", "live/s", "")
		// It has its place in the stream with the first packet, not with the answer.
		v.packet()
		viewers = append(viewers, v)
	}
	if n := len(s.feeds.Hub().Streams()); n != 1 {
		t.Errorf("%d streams of packets for 3 viewers", n)
	}
	send(20)
	var first [][]byte
	for i, v := range viewers {
		var got [][]byte
		for len(got) < 10 {
			got = append(got, v.packet())
		}
		if i == 0 {
			first = got
			continue
		}
		// They joined at other frames, but the packets with one number are the same.
		same := 0
		for _, a := range first {
			for _, b := range got {
				if a[2] == b[2] && a[3] == b[3] {
					if !slices.Equal(a, b) {
						t.Errorf("viewer %d has another packet %x", i, a[2:4])
					}
					same++
				}
			}
		}
		if same == 0 {
			t.Errorf("viewer %d shares no packet with the first", i)
		}
	}
	for _, v := range viewers {
		v.must(200, "TEARDOWN", "live/s", "")
		v.ends()
	}
	rtmpUntil(t, "no packets are made", func() bool { return len(s.feeds.Hub().Streams()) == 0 })
	p.must(200, "TEARDOWN", "live/s", "")
	p.ends()
}

func TestRTSPTokens(t *testing.T) {
	secret := strings.Repeat("s", access.MinSecret)
	s := rtspServe(t, func(c *relayConfig) { c.Protect, c.TokenSecret = []string{"publish", "play"}, secret })
	token := access.SignID([]byte(secret), access.Publish, "live/s", "cam", time.Now().Add(time.Hour))
	head := token[:strings.LastIndexByte(token, '.')]
	body := rtspDescription(t)
	digest := func(x *rtspClient, password string) string {
		_, h := x.ask("ANNOUNCE", "live/s", body, rtspSDP)
		for _, text := range h.Values("WWW-Authenticate") {
			if rest, ok := strings.CutPrefix(text, "Digest "); ok {
				return "Authorization: Digest " + rtspauth.Answer(head, password, "ANNOUNCE", x.url("live/s"), rtspauth.Params(rest), 1)
			}
		}
		t.Error("no challenge")
		return ""
	}
	basic := func(password string) string {
		return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("anybody:"+password))
	}
	for name, c := range map[string]struct {
		path  string
		field func(x *rtspClient) string
		want  int
	}{
		"none":                    {"live/s", func(*rtspClient) string { return "X: y" }, 401},
		"in the query":            {"live/s?token=" + token, func(*rtspClient) string { return "X: y" }, 200},
		"of another stream":       {"live/other?token=" + token, func(*rtspClient) string { return "X: y" }, 401},
		"Basic":                   {"live/s", func(*rtspClient) string { return basic(token) }, 200},
		"Basic, wrong":            {"live/s", func(*rtspClient) string { return basic(token + "x") }, 401},
		"Digest":                  {"live/s", func(x *rtspClient) string { return digest(x, token) }, 200},
		"Digest, wrong":           {"live/s", func(x *rtspClient) string { return digest(x, "x") }, 401},
		"Digest, another's nonce": {"live/s", func(*rtspClient) string { return digest(rtspDial(t, s), token) }, 401},
	} {
		t.Run(rtmpCut(name), func(t *testing.T) {
			x := rtspDial(t, s)
			x.t = t
			got, _ := x.ask("ANNOUNCE", c.path, body, rtspSDP, c.field(x))
			if name == "none" && !strings.Contains(x.reason, "before its last dot as the user") {
				t.Errorf("it does not say how to log in: %q", x.reason)
			}
			if got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
			if got == 200 {
				x.must(200, "TEARDOWN", "live/s", "")
				x.ends()
			}
		})
	}
	x := rtspDial(t, s)
	for range 10 {
		x.ask("ANNOUNCE", "live/s", body, rtspSDP, basic("x"))
	}
	x.ends()
}

func TestRTSPHostilePeers(t *testing.T) {
	sdp := rtspDescription(t)
	many := sdp + strings.Repeat("m=audio 0 RTP/AVP 0\r\n", rtpmedia.MaxTracks)
	for name, c := range map[string]struct {
		do     func(x *rtspClient)
		status int // of a request that is made then; 0: the connection ends
	}{
		"an unfinished request": {func(x *rtspClient) { io.WriteString(x.conn, "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n") }, 0},
		"silence":               {func(*rtspClient) {}, 0},
		"not RTSP":              {func(x *rtspClient) { io.WriteString(x.conn, "GET / HTTP/1.1\r\n\r\n") }, 0},
		"a line without an end": {func(x *rtspClient) { io.WriteString(x.conn, strings.Repeat("x", 64<<10)) }, 0},
		"a body that is too long": {func(x *rtspClient) {
			io.WriteString(x.conn, "ANNOUNCE rtsp://h/live/s RTSP/1.0\r\nCSeq: 1\r\nContent-Length: 9999999\r\n\r\n")
		}, 0},
		"a description of many media": {func(x *rtspClient) { x.must(400, "ANNOUNCE", "live/s", many, rtspSDP) }, 200},
		"a description of nothing":    {func(x *rtspClient) { x.must(400, "ANNOUNCE", "live/s", "v=0\r\n", rtspSDP) }, 200},
		"an unknown codec": {func(x *rtspClient) {
			x.must(415, "ANNOUNCE", "live/s", strings.ReplaceAll(sdp, "PCMU", "WHAT"), rtspSDP)
		}, 200},
		"a name that is a path":      {func(x *rtspClient) { x.must(400, "DESCRIBE", "live/../../etc", "") }, 200},
		"a stream that is not there": {func(x *rtspClient) { x.must(404, "DESCRIBE", "live/none", "") }, 200},
		"PLAY before SETUP":          {func(x *rtspClient) { x.must(455, "PLAY", "live/s", "") }, 200},
		"RECORD before ANNOUNCE":     {func(x *rtspClient) { x.must(455, "RECORD", "live/s", "") }, 200},
		"frames before anything": {func(x *rtspClient) {
			x.conn.Write([]byte{'$', 0, 0, 4, 1, 2, 3, 4})
		}, 200},
		"multicast": {func(x *rtspClient) {
			x.must(200, "ANNOUNCE", "live/s", sdp, rtspSDP)
			x.must(461, "SETUP", "live/s/trackID=0", "", "Transport: RTP/AVP;multicast;port=5000-5001")
		}, 200},
		"ANNOUNCE and then nothing": {func(x *rtspClient) { x.must(200, "ANNOUNCE", "live/s", sdp, rtspSDP) }, 0},
	} {
		t.Run(rtmpCut(name), func(t *testing.T) {
			// On a busy machine the time may be over before the last answer.
			for limit, late := 300*time.Millisecond, true; late; limit *= 4 {
				s := rtspServe(t, func(c *relayConfig) { c.times.Header, c.times.Idle = limit, limit })
				began := time.Now()
				x := rtspDial(t, s)
				x.t, x.began, x.limit = t, began, limit
				c.do(x)
				if c.status != 0 {
					x.must(c.status, "OPTIONS", "live/s", "")
				}
				late = x.late && limit < rtmpTimeout
				x.ends()
				rtmpUntil(t, "there is no publisher", func() bool { _, there := s.host.Hub.Stream("live/s"); return !there })
			}
		})
	}
}

func TestRTSPRequestsWithoutEndAreEnded(t *testing.T) {
	s := rtspServe(t, nil)
	x := rtspDial(t, s)
	for range 100 {
		if status, _ := x.ask("OPTIONS", "live/s", ""); status == 0 {
			return
		}
	}
	t.Error("100 requests and no media")
}

// Frames on channels that were never set up belong to no track, and do not count as media.
func TestRTSPFramesOnOtherChannels(t *testing.T) {
	s := rtspServe(t, nil)
	x := rtspDial(t, s)
	send := x.record("live/s")
	send(3)
	rtmpUntil(t, "the stream has frames", func() bool { return rtspFrames(s, "live/s") >= 3 })
	for channel := range 250 {
		if _, err := x.conn.Write(append([]byte{'$', byte(channel + 4), 0, 20}, make([]byte, 20)...)); err != nil {
			t.Fatal(err)
		}
	}
	x.must(200, "GET_PARAMETER", "live/s", "") // which is answered when all before it was read
	before := rtspFrames(s, "live/s")
	send(2)
	rtmpUntil(t, "the stream goes on", func() bool { return rtspFrames(s, "live/s") == before+2 })
	x.must(200, "TEARDOWN", "live/s", "")
	x.ends()
}

// Over UDP only what comes from the publisher's own address and port counts.
func TestRTSPDatagramsOfStrangers(t *testing.T) {
	s := rtspServe(t, nil)
	mine, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	stranger, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	x := rtspDial(t, s)
	port := mine.LocalAddr().(*net.UDPAddr).Port
	transport := fmt.Sprintf("Transport: RTP/AVP;unicast;client_port=%d-%d;mode=record", port, port)
	x.must(200, "ANNOUNCE", "live/s", rtspDescription(t), rtspSDP)
	h := x.must(200, "SETUP", "live/s/trackID=0", "", transport)
	list, err := rtsp.ParseTransport(h.Get("Transport"))
	if err != nil || list[0].ServerPort == nil {
		t.Fatalf("%v, %v", list, err)
	}
	to := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: list[0].ServerPort.First}
	// The same address cannot be another session's.
	other := rtspDial(t, s)
	other.must(200, "ANNOUNCE", "live/other", rtspDescription(t), rtspSDP)
	other.must(461, "SETUP", "live/other/trackID=0", "", transport)
	x.must(200, "RECORD", "live/s", "")
	f := rtspFormat(t)
	m := rtpmedia.NewMuxer([]rtpmedia.Format{f})
	packet := func(at uint32) []byte {
		u := au.Unit{Codec: f.Codec, Config: f.Config, Time: at, Parts: [][]byte{make([]byte, 160)}}
		p, err := m.Append(nil, &u, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		for p[1] != 0 {
			p = p[4+int(p[2])<<8+int(p[3]):]
		}
		return p[4:]
	}
	before := s.rtsp.Strangers()
	for i := range 10 {
		if _, err := stranger.WriteTo(packet(uint32(i)*20), to); err != nil {
			t.Fatal(err)
		}
	}
	rtmpUntil(t, "the strangers are counted", func() bool { return s.rtsp.Strangers() >= before+10 })
	if n := rtspFrames(s, "live/s"); n != 0 {
		t.Errorf("the stream has %d frames of a stranger", n)
	}
	at := uint32(200)
	rtmpUntil(t, "the publisher is heard", func() bool {
		if _, err := mine.WriteTo(packet(at), to); err != nil {
			t.Fatal(err)
		}
		at += 20
		return rtspFrames(s, "live/s") > 0
	})
	x.must(200, "TEARDOWN", "live/s", "")
	x.ends()
	other.must(200, "TEARDOWN", "live/other", "")
	other.ends()
}

// A publisher that stops to send is ended, as one by RTMP.
func TestRTSPPublisherThatIsTooSlow(t *testing.T) {
	const limit = 300 * time.Millisecond
	s := rtspServe(t, func(c *relayConfig) { c.times.Silence, c.times.Rate = limit, limit })
	began := time.Now()
	x := rtspDial(t, s)
	x.began, x.limit = began, limit // it may be over before the last frame
	x.record("live/s")(3)
	x.ends()
	rtmpUntil(t, "there is no publisher", func() bool { return s.host.Register.Number(session.RolePublisher) == 0 })
}

// Silent connections, however many, do not keep others out.
func TestRTSPSilentConnectionsGiveWay(t *testing.T) {
	s := rtspServe(t, func(c *relayConfig) { c.MaxHandshakes, c.MaxHandshakesPerAddress = 64, 32 })
	const silent = 150 // 32 give way at a time
	for range silent {
		conn, err := net.Dial("tcp", s.Addresses()["rtsp"])
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	rtmpUntil(t, "all places are taken", func() bool {
		got := s.rtsp.Arrivals.Stats()
		return got.On == 32 && got.On+got.Waiting == silent
	})
	s.rtsp.Arrivals.SetQuiet(rtmpQuiet)
	x := rtspDial(t, s)
	send := x.record("live/s")
	send(2)
	rtmpUntil(t, "the stream has frames", func() bool { return rtspFrames(s, "live/s") >= 2 })
	if got := s.rtsp.Arrivals.Stats(); got.GaveWay == 0 || got.On > 64 {
		t.Errorf("%+v", got)
	}
	x.must(200, "TEARDOWN", "live/s", "")
	x.ends()
}

// A viewer over UDP gets datagrams at the ports of its latest SETUP, and a kick ends its
// connection.
func TestRTSPViewerOverUDP(t *testing.T) {
	s := rtspServe(t, nil)
	p := rtspDial(t, s)
	send := p.record("live/s")
	send(5)
	rtmpUntil(t, "the stream has frames", func() bool { return rtspFrames(s, "live/s") >= 5 })
	// Reports of other tests' servers go to the ports next to those of their viewers at
	// 127.0.0.1: this viewer has another address.
	mine, err := net.ListenPacket("udp", net.JoinHostPort(loopback.Host(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	mine.SetDeadline(time.Now().Add(rtmpTimeout))
	v := rtspDialFrom(t, s, loopback.Host())
	v.must(200, "DESCRIBE", "live/s", "")
	port := mine.LocalAddr().(*net.UDPAddr).Port
	for i := range 20 {
		v.must(200, "SETUP", "live/s/trackID=0", "", fmt.Sprintf("Transport: RTP/AVP;unicast;client_port=%d-%d;destination=192.0.2.1", 20000+2*i, 20001+2*i))
	}
	v.must(200, "SETUP", "live/s/trackID=0", "", fmt.Sprintf("Transport: RTP/AVP;unicast;client_port=%d-%d", port, port+1))
	v.must(461, "SETUP", "live/s/trackID=0", "", rtspTCP)
	if n := s.rtsp.Datagrams(); n != 1 {
		t.Errorf("%d addresses are expected to send, for one viewer", n)
	}
	v.must(200, "PLAY", "live/s", "")
	b := make([]byte, 2000)
	last := -1
	for i := range 10 {
		n, _, err := mine.ReadFrom(b)
		if err != nil || n != 12+160 || b[0] != 0x80 || b[1] != 0 {
			t.Fatalf("%d bytes, %v: % x", n, err, b[:4])
		}
		if i == 0 {
			send(20) // the viewer has its place in the stream with the first packet
		}
		if number := int(b[2])<<8 | int(b[3]); last >= 0 && number != (last+1)&0xffff {
			t.Errorf("packet %d after %d", number, last)
		}
		last = int(b[2])<<8 | int(b[3])
	}
	v.must(200, "GET_PARAMETER", "live/s", "")
	for _, c := range s.host.Register.List() {
		if c.Role == session.RoleViewer {
			c.Stop(session.ErrKicked)
		}
	}
	v.ends()
	rtmpUntil(t, "nothing is left of the viewer", func() bool {
		return s.rtsp.Datagrams() == 0 && s.host.Register.Number(session.RoleViewer) == 0
	})
	p.must(200, "TEARDOWN", "live/s", "")
	p.ends()
}

// A client that its proxy does not know is called so, and has no address to which
// datagrams could go, or from which they could come.
func TestRTSPClientThatTheProxyDoesNotKnow(t *testing.T) {
	s := rtspServe(t, func(c *relayConfig) {
		c.TrustedProxies, c.ProxyProtocol = []string{"127.0.0.0/8"}, []string{"rtsp"}
	})
	const udp = "Transport: RTP/AVP;unicast;client_port=20000-20001"
	unknown := func() *rtspClient {
		x := rtspDial(t, s)
		if _, err := io.WriteString(x.conn, "PROXY UNKNOWN\r\n"); err != nil {
			t.Fatal(err)
		}
		return x
	}
	x := unknown()
	x.must(200, "ANNOUNCE", "live/other", rtspDescription(t), rtspSDP)
	x.must(461, "SETUP", "live/other/trackID=0", "", udp+";mode=record")
	send := unknown().record("live/s")
	send(5)
	rtmpUntil(t, "the stream has frames", func() bool { return rtspFrames(s, "live/s") >= 5 })
	clients := s.host.Register.List()
	if len(clients) != 1 || clients[0].Address != listen.Unknown {
		t.Errorf("%+v, want the address %q", clients, listen.Unknown)
	}
	v := unknown()
	v.must(200, "DESCRIBE", "live/s", "")
	v.must(461, "SETUP", "live/s/trackID=0", "", udp)
	v.must(200, "SETUP", "live/s/trackID=0", "", rtspTCP)
	if n := s.rtsp.Datagrams(); n != 0 {
		t.Errorf("datagrams are expected from %d addresses", n)
	}
}

// A stream's name may have = in it, and may begin with another one's.
func TestRTSPNamesThatLookLikeOthers(t *testing.T) {
	s := rtspServe(t, nil)
	for _, name := range []string{"live/cam=1", "live/a/b=c"} {
		send := rtspDial(t, s).record(name)
		send(50)
		v := rtspDial(t, s)
		v.must(200, "DESCRIBE", name, "")
		v.must(404, "SETUP", name+"2/trackID=0", "", rtspTCP)
		v.must(200, "SETUP", name+"/trackID=0", "", rtspTCP)
	}
}

// Where memory is short no packets are made of another stream; the viewer gets the reason.
func TestRTSPViewersAreRefusedWhenMemoryIsShort(t *testing.T) {
	s := rtmpServe(t, withRTSP)
	var short atomic.Bool
	s.host.Room = func() error {
		if short.Load() {
			return fmt.Errorf("%w: max-memory", session.ErrFull)
		}
		return nil
	}
	for _, name := range []string{"a", "b"} {
		if err := rtmpPush(t, s, "rtmp", "live", name).send(rtmpClip()[:20]); err != nil {
			t.Fatal(err)
		}
	}
	play := func(name string, status int) *rtspClient {
		x := rtspDial(t, s)
		x.must(200, "DESCRIBE", "live/"+name+"?wait=10", "")
		h := x.must(200, "SETUP", "live/"+name+"/trackID=0", "", "Transport: RTP/AVP/TCP;unicast;interleaved=0-1")
		x.must(status, "PLAY", "live/"+name, "", "Session: "+h.Get("Session"))
		return x
	}
	play("a", 200)
	short.Store(true)
	play("a", 200) // its packets are there
	if x := play("b", 503); !strings.Contains(x.reason, "full") {
		t.Errorf("the reason is %q", x.reason)
	}
}
