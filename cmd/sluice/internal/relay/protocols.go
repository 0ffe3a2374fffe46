package relay

import (
	"log/slog"
	"net"
	"net/netip"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hls"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtmpserver"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpfeed"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtspserver"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/srtserver"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/web"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/webrtc"
)

// protocols are what serves sessions, by protocol.
type protocols struct {
	rtmp   *rtmpserver.Server
	web    *web.Server
	hls    *hls.Server
	feeds  *rtpfeed.Feeds // packets that RTSP and WebRTC send
	rtsp   *rtspserver.Server
	webrtc *webrtc.Server // nil: none
	srt    *srtserver.Server
}

// endpoints are where the settings want TCP connections, and what serves these. certs is nil
// when none of them has TLS.
func (p *protocols) endpoints(c *config.Config, certs *listen.Certificate) []endpoint {
	return []endpoint{
		{"rtmp", c.RTMP, func(l net.Listener) error { return p.rtmp.Serve(l, "rtmp", nil) }},
		{"rtmps", c.RTMPS, func(l net.Listener) error { return p.rtmp.Serve(l, "rtmps", certs.Config()) }},
		{"http", c.HTTP, func(l net.Listener) error { return p.web.Serve(l) }},
		{"https", c.HTTPS, func(l net.Listener) error { return p.web.ServeTLS(l, certs.Config("http/1.1")) }},
		{"rtsp", c.RTSP, func(l net.Listener) error { return p.rtsp.Serve(l, "rtsp", nil) }},
		{"rtsps", c.RTSPS, func(l net.Listener) error { return p.rtsp.Serve(l, "rtsps", certs.Config()) }},
		{"pprof", c.PProf, servePProf},
	}
}

// handshakes are a protocol's places for connections without a request.
type handshakes struct {
	protocol string
	*listen.Arrivals
}

func (p *protocols) handshakes() []handshakes {
	return []handshakes{{"RTMP", &p.rtmp.Arrivals}, {"HTTP", &p.web.Arrivals}, {"RTSP", &p.rtsp.Arrivals}, {"SRT", &p.srt.Arrivals}}
}

// crowded logs that connections take each other's places.
func (h handshakes) crowded(log *slog.Logger) func(listen.ArrivalStats, netip.Prefix) {
	return func(s listen.ArrivalStats, most netip.Prefix) {
		log.Warn("connections that make no request are closed for others: max-handshakes, max-handshakes-per-address",
			"protocol", strings.ToLower(h.protocol), "closed", s.GaveWay, "refused", s.Refused, "on", s.On, "waiting", s.Waiting, "most", most)
	}
}

// closePorts ends what keeps ports that are not TCP alone.
func (p *protocols) closePorts() {
	if p.webrtc != nil {
		p.webrtc.Drain()
		p.webrtc.Close()
	}
	p.srt.Close()
	p.rtsp.Close()
}
