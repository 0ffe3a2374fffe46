package relay

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/pion/rtcp"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/web"
	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/rtsp"
)

// What a viewer over UDP reports of losses and jitter stands in the API; of what is no report, is on another source, or
// comes from another port nothing does, and no number is more than the viewer was sent, or less than none.
func TestRTSPViewersReportLosses(t *testing.T) {
	s := startRelay(t, withRTSP)
	p := rtspDial(t, s.Server)
	send := p.record("live/s")
	send(5)
	rtmpUntil(t, "the stream has frames", func() bool { return rtspFrames(s.Server, "live/s") >= 5 })
	var conns [3]net.PacketConn // the viewer's two, and another one's
	for i := range conns {
		c, err := net.ListenPacket("udp", net.JoinHostPort(loopback.Host(), "0"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(rtmpTimeout))
		conns[i] = c
	}
	port := func(i int) int { return conns[i].LocalAddr().(*net.UDPAddr).Port }
	if port(0) > port(1) {
		conns[0], conns[1] = conns[1], conns[0]
	}
	v := rtspDialFrom(t, s.Server, loopback.Host())
	v.must(200, "DESCRIBE", "live/s", "")
	h := v.must(200, "SETUP", "live/s/trackID=0", "", fmt.Sprintf("Transport: RTP/AVP;unicast;client_port=%d-%d", port(0), port(1)))
	list, err := rtsp.ParseTransport(h.Get("Transport"))
	if err != nil || list[0].ServerPort == nil {
		t.Fatalf("%v, %v", list, err)
	}
	to := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: list[0].ServerPort.Last}
	v.must(200, "PLAY", "live/s", "")
	b := make([]byte, 2000)
	for i := range 10 {
		if _, _, err := conns[0].ReadFrom(b); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			send(20) // the viewer has its place in the stream with the first packet
		}
	}
	source := binary.BigEndian.Uint32(b[8:])
	report := func(from int, on, lost, jitter uint32) {
		t.Helper()
		p, err := (&rtcp.ReceiverReport{SSRC: 1, Reports: []rtcp.ReceptionReport{{SSRC: on, TotalLost: lost, Jitter: jitter}}}).Marshal()
		if err == nil {
			_, err = conns[from].WriteTo(p, to)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	reported := func() (lost, jitter int64) {
		t.Helper()
		var answer struct{ Clients []web.ClientInfo }
		_, text := s.get(t, "/api/clients")
		if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Clients) != 2 {
			t.Fatalf("%s: %v", text, err)
		}
		lost, jitter = -1, -1
		for _, c := range answer.Clients {
			if c.Lost != nil && c.JitterMS != nil && c.Role == "viewer" {
				lost, jitter = *c.Lost, *c.JitterMS
			} else if c.Lost != nil || c.JitterMS != nil {
				t.Errorf("%s", text)
			}
		}
		return lost, jitter
	}
	if lost, jitter := reported(); lost != -1 || jitter != -1 {
		t.Errorf("before a report: %d, %d", lost, jitter)
	}
	is := func(what string, least, most, ms int64) {
		t.Helper()
		rtmpUntil(t, what, func() bool {
			lost, jitter := reported()
			return lost >= least && lost <= most && jitter == ms
		})
	}
	for _, junk := range []string{"", "x", "\x81\xc9\x00\x07", "\x9f\xc9\xff\xff" + string(b[:200]), "\x81\xcb\x00\x01" + string(b[8:12])} {
		if _, err := conns[1].WriteTo([]byte(junk), to); err != nil {
			t.Fatal(err)
		}
	}
	report(1, source+1, 4, 8)
	report(1, 0, 4, 8)
	report(2, source, 4, 8)
	report(1, source, 3, 80)
	is("its report", 3, 3, 10)
	report(1, source, 1<<24-2, 0)
	is("some that came twice", 0, 0, 0)
	report(1, source, 1<<23-1, 1<<32-1)
	is("more than it was sent", 10, 25, (1<<32-1)*1000/8000)
	v.must(200, "TEARDOWN", "live/s", "")
	v.ends()
	s.log.line(t, "viewer ended", "protocol=rtsp", "lost=")
	p.must(200, "TEARDOWN", "live/s", "")
	p.ends()
}
