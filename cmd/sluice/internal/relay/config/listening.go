package config

import (
	"fmt"
	"time"
)

// Listening is where the server listens.
type Listening struct {
	RTMP, RTMPS, HTTP, HTTPS string   // addresses; "" or "off" for none
	RTSP, RTSPS              string   // the same
	RTSPUDP                  string   // address for RTP; RTCP has the next port; "" for ports of the system's choosing
	WebRTC                   string   // address for the media of WebRTC, over UDP and TCP
	WebRTCAddress            []string // addresses or names that clients are given; none: the machine's own
	ICEServers               []string // URLs of STUN and TURN servers for clients
	TURNSecret               string   // makes the credentials for those; from the environment only
	SRT                      string   // address
	SRTLatency               time.Duration
	SRTPassphrase            string   // from the environment only
	Cert, Key                string   // PEM files for RTMPS, HTTPS and RTSPS
	TrustedProxies           []string // CIDR: peers that may speak for others
	ProxyProtocol            []string // listeners on which those begin with a PROXY header
}

func (g *Listening) settings() []Setting {
	return []Setting{
		{Name: "rtmp", Default: ":1935", Usage: "`address` for RTMP, host:port; off for none",
			value: text(&g.RTMP), fits: address(&g.RTMP)},
		{Name: "rtmps", Usage: "`address` for RTMP over TLS; needs cert and key",
			value: text(&g.RTMPS), fits: address(&g.RTMPS)},
		{Name: "http", Default: ":8080", Usage: "`address` for HTTP: page, FLV, WebSocket, API; off for none",
			value: text(&g.HTTP), fits: address(&g.HTTP)},
		{Name: "https", Usage: "`address` for HTTP over TLS; needs cert and key",
			value: text(&g.HTTPS), fits: address(&g.HTTPS)},
		{Name: "rtsp", Default: ":8554", Usage: "`address` for RTSP, host:port; off for none",
			value: text(&g.RTSP), fits: address(&g.RTSP)},
		{Name: "rtsps", Usage: "`address` for RTSP over TLS; needs cert and key",
			value: text(&g.RTSPS), fits: address(&g.RTSPS)},
		{Name: "rtsp-udp", Usage: "`address` for the media of RTSP over UDP, with an even port: RTP there, RTCP on the next; unless given, ports of the system's choosing; off for none",
			value: text(&g.RTSPUDP), fits: evenAddress(&g.RTSPUDP)},
		{Name: "webrtc", Default: ":8189", Usage: "`address` for the media of WebRTC, over UDP and TCP; requests come by HTTP; off for none",
			value: text(&g.WebRTC), fits: address(&g.WebRTC)},
		{Name: "webrtc-address", Usage: "`addresses` or names by which clients reach that port, when they are not the machine's own, as behind NAT",
			value: list(&g.WebRTCAddress), fits: hosts(&g.WebRTCAddress)},
		{Name: "ice-servers", Live: true, Usage: "`URLs` of STUN and TURN servers that are named to WebRTC clients, such as stun:stun.example.com or turn:turn.example.com?transport=tcp",
			value: list(&g.ICEServers), fits: iceServers(&g.ICEServers)},
		{Name: "turn-secret", Live: true, Secret: true, Usage: "makes the credentials for the TURN servers among ice-servers, which have the same secret",
			value: text(&g.TURNSecret)},
		{Name: "srt", Default: ":8890", Usage: "`address` for SRT, host:port; off for none",
			value: text(&g.SRT), fits: address(&g.SRT)},
		{Name: "srt-latency", Default: "200ms", Usage: "`time` within which lost packets of SRT are sent again; the peer's counts if it is longer",
			value: duration(&g.SRTLatency), fits: between(&g.SRTLatency, 20*time.Millisecond, 8*time.Second)},
		{Name: "srt-passphrase", Live: true, Secret: true, Usage: "encrypts SRT: 10 to 79 characters",
			value: text(&g.SRTPassphrase), fits: passphrase(&g.SRTPassphrase)},
		{Name: "cert", Live: true, Usage: "PEM `file` with the certificate chain; read again when it changes",
			value: text(&g.Cert)},
		{Name: "key", Live: true, Usage: "PEM `file` with the private key",
			value: text(&g.Key)},
		{Name: "trusted-proxies", Live: true, Usage: "`networks` of proxies whose X-Forwarded-For, Forwarded and PROXY protocol are believed",
			value: list(&g.TrustedProxies), fits: networks(&g.TrustedProxies)},
		{Name: "proxy-protocol", Usage: "`listeners` on which trusted proxies send the PROXY protocol first: rtmp, rtmps, http, https, rtsp, rtsps",
			value: list(&g.ProxyProtocol), fits: allOf(&g.ProxyProtocol, "rtmp", "rtmps", "http", "https", "rtsp", "rtsps")},
	}
}

// passphrase accepts what SRT takes, or none.
func passphrase(v *string) func() error {
	return func() error {
		if n := len(*v); n > 0 && (n < 10 || n > 79) {
			return fmt.Errorf("it has %d bytes, 10 to 79 are needed", n)
		}
		return nil
	}
}
