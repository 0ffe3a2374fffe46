package relay

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/webrtc"
	"github.com/sluice-go/sluice/internal/sys"
)

// manyDescriptors is for how many there is room from the beginning: 128 KB of the
// kernel's memory.
const manyDescriptors = 1 << 14

// A listener is one address that the server listens at.
type listener struct {
	net.Listener
	setting string // name of its setting
	serve   func(*listener) error

	configured string          // the address as it was configured
	pausing    *listen.Pausing // nil: another process cannot have it
}

// A ListenError says which listener could not be opened.
type ListenError struct {
	Setting string // rtmp, rtmps, http, https, rtsp, rtsps, rtsp-udp, webrtc, srt, pprof, cluster-address, upgrade-socket
	Address string
	Err     error
}

func (e *ListenError) Error() string {
	why := e.Err.Error()
	var op *net.OpError
	if errors.As(e.Err, &op) {
		why = op.Err.Error()
	}
	var number syscall.Errno
	if errors.As(e.Err, &number) {
		why = number.Error()
	}
	return fmt.Sprintf("%s: cannot listen at %s: %s", e.Setting, e.Address, why)
}

func (e *ListenError) Unwrap() error { return e.Err }

// Listen opens all listeners, so that their addresses are known. If one fails, it
// opens none and returns a *ListenError.
func (s *Server) Listen() error {
	sys.RoomForDescriptors(manyDescriptors)
	c := s.settings.Load()
	for _, l := range []struct {
		setting, address string
		secure           bool
		serve            func(*listener) error
	}{
		{"rtmp", c.RTMP, false, func(l *listener) error { return s.rtmp.Serve(l, l.setting, nil) }},
		{"rtmps", c.RTMPS, true, func(l *listener) error { return s.rtmp.Serve(l, l.setting, s.certs.Config()) }},
		{"http", c.HTTP, false, func(l *listener) error { return s.web.Serve(l) }},
		{"https", c.HTTPS, true, func(l *listener) error { return s.web.ServeTLS(l, s.certs.Config("http/1.1")) }},
		{"rtsp", c.RTSP, false, func(l *listener) error { return s.rtsp.Serve(l, l.setting, nil) }},
		{"rtsps", c.RTSPS, true, func(l *listener) error { return s.rtsp.Serve(l, l.setting, s.certs.Config()) }},
		{"pprof", c.PProf, false, func(l *listener) error { return servePProf(l) }},
	} {
		if !config.On(l.address) {
			continue
		}
		var opened net.Listener
		if s.given != nil {
			opened = s.given(l.setting, l.address)
		}
		var err error
		if opened == nil {
			opened, err = net.Listen("tcp", l.address)
		}
		if err != nil {
			for _, other := range s.listeners {
				other.Close()
			}
			s.listeners = nil
			return &ListenError{l.setting, l.address, err}
		}
		var pausing *listen.Pausing
		if tcp, ok := opened.(*net.TCPListener); ok {
			pausing = &listen.Pausing{TCPListener: tcp}
			opened = pausing
		}
		if slices.Contains(c.ProxyProtocol, l.setting) {
			opened = s.proxies.Listener(opened, s.host.Times.Header)
		}
		s.listeners = append(s.listeners, &listener{opened, l.setting, l.serve, l.address, pausing})
	}
	var err error
	if !s.successor { // its predecessor has these ports until it has let go
		err = s.listenPorts(c)
	}
	at := s.listenedAt()
	if err == nil && s.cluster != nil {
		err = s.cluster.open(at)
	}
	if err == nil && !s.successor {
		err = s.listenUpgrades(c)
	}
	if err != nil {
		for _, l := range s.listeners {
			l.Close()
		}
		s.listeners = nil
		return err
	}
	s.at.Store(&at)
	return nil
}

// listenPorts opens what is not TCP alone.
func (s *Server) listenPorts(c *config.Config) error {
	err := s.listenUDP(c)
	if err == nil {
		err = s.listenWebRTC(c)
	}
	if err == nil {
		err = s.listenSRT(c)
	}
	return err
}

// listenedAt returns the addresses of the listeners that there are.
func (s *Server) listenedAt() map[string]string {
	at := make(map[string]string, len(s.listeners))
	for _, l := range s.listeners {
		at[l.setting] = l.Addr().String()
	}
	if s.webrtc != nil {
		at["webrtc"] = s.webrtc.Addr().String()
	}
	return at
}

// listenUDP opens the ports for the media of RTSP.
func (s *Server) listenUDP(c *config.Config) error {
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
	if err := s.rtsp.OpenUDP(address); err != nil {
		return &ListenError{"rtsp-udp", address, err}
	}
	return nil
}

// listenWebRTC opens the port for the media of WebRTC. Its requests come by HTTP.
func (s *Server) listenWebRTC(c *config.Config) error {
	if !config.On(c.WebRTC) || !config.On(c.HTTP) && !config.On(c.HTTPS) {
		return nil
	}
	opened, err := webrtc.Open(s.host, s.feeds, webrtc.Options{Address: c.WebRTC, Addresses: c.WebRTCAddress})
	if err != nil {
		return &ListenError{"webrtc", c.WebRTC, err}
	}
	s.webrtc, s.web.WebRTC = opened, opened
	s.web.Metrics.MustRegister(opened.Metrics()...)
	return nil
}

// listenSRT opens the listener of SRT, which is none of net's.
func (s *Server) listenSRT(c *config.Config) error {
	if !config.On(c.SRT) {
		return nil
	}
	opened, err := s.srt.Listen(c.SRT)
	if err != nil {
		return &ListenError{"srt", c.SRT, err}
	}
	s.listeners = append(s.listeners, &listener{opened, "srt", func(l *listener) error { return s.srt.Serve(l) }, c.SRT, nil})
	return nil
}

// Addresses returns where the server listens, by the names of the settings.
// It is empty before Listen. The result is for reading only.
func (s *Server) Addresses() map[string]string {
	if at := s.at.Load(); at != nil {
		return *at
	}
	return nil
}
