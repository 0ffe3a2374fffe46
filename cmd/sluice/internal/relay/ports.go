package relay

import (
	"errors"
	"net"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/webrtc"
)

// portTime is for how long a successor waits for ports that its predecessor still has.
const portTime = 5 * time.Second

// ports open what is not TCP alone, for the protocols that need it.
type ports struct {
	host      *session.Host
	serving   *protocols
	listeners *listeners
}

func (p ports) all() []func(*config.Config) error {
	return []func(*config.Config) error{p.openUDP, p.openWebRTC, p.openSRT}
}

// open opens them in turn, up to the first that cannot be opened.
func (p ports) open(c *config.Config) error {
	for _, open := range p.all() {
		if err := open(c); err != nil {
			return err
		}
	}
	return nil
}

// openLate opens those that the predecessor had. Without one of them the server serves what
// else there is.
func (p ports) openLate(c *config.Config) {
	end := time.Now().Add(portTime)
	for _, open := range p.all() {
		err := open(c)
		for over := false; err != nil && !over; err = open(c) {
			time.Sleep(10 * time.Millisecond)
			over = time.Now().After(end) // and once more: this process may have stood still
		}
		if err != nil {
			p.host.Log.Error("a port of the predecessor is not free", "error", err)
		}
	}
}

// openUDP opens the ports for the media of RTSP.
func (p ports) openUDP(c *config.Config) error {
	if !config.On(c.RTSP) || c.RTSPUDP == "off" {
		return nil
	}
	address := c.RTSPUDP
	if address == "" {
		host, _, err := net.SplitHostPort(c.RTSP)
		if err != nil {
			return &ListenError{"rtsp-udp", c.RTSP, err}
		}
		address = net.JoinHostPort(host, "0")
	}
	if err := p.serving.rtsp.OpenUDP(address); err != nil {
		return &ListenError{"rtsp-udp", address, err}
	}
	return nil
}

// openWebRTC opens the port for the media of WebRTC. Its requests come by HTTP.
func (p ports) openWebRTC(c *config.Config) error {
	if !config.On(c.WebRTC) || !config.On(c.HTTP) && !config.On(c.HTTPS) {
		return nil
	}
	opened, err := webrtc.Open(p.host, p.serving.feeds, webrtc.Options{Address: c.WebRTC, Addresses: c.WebRTCAddress})
	if errors.Is(err, webrtc.ErrAddress) {
		return config.Fault(c.Place("webrtc-address"), "webrtc-address", err)
	}
	if err != nil {
		return &ListenError{"webrtc", c.WebRTC, err}
	}
	p.serving.webrtc, p.serving.web.WebRTC = opened, opened
	p.serving.web.Metrics.MustRegister(opened.Metrics()...)
	return nil
}

// openSRT opens the listener of SRT, which is none of net's.
func (p ports) openSRT(c *config.Config) error {
	if !config.On(c.SRT) {
		return nil
	}
	srt := p.serving.srt
	opened, err := srt.Listen(c.SRT)
	if err != nil {
		return &ListenError{"srt", c.SRT, err}
	}
	p.listeners.add(opened, endpoint{"srt", c.SRT, func(l net.Listener) error { return srt.Serve(l) }})
	return nil
}
