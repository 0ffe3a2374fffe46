package rtspserver

import (
	"crypto/tls"
	"net"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
)

// A Server is the RTSP side of a server.
type Server struct {
	*session.Host
	Arrivals listen.Arrivals // connections that have not made a request yet
	feeds    feeds
	ports    *ports // nil: no UDP
}

// New makes a Server. packets are the options of the streams of packets, of which the
// memory for all is bounded too.
func New(host *session.Host, packets live.HubOptions) *Server {
	packets.Stream.Packets = true
	packets.Stream.MaxFrame = 1<<24 - 1 // a frame of media and the headers of its packets
	packets.Stream.Grace = 0
	s := &Server{Host: host}
	s.feeds = feeds{hub: live.NewHub(packets), alloc: host.Alloc, log: host.Log}
	return s
}

// Hub returns the streams of packets.
func (s *Server) Hub() *live.Hub { return s.feeds.hub }

// OpenUDP opens the ports for media over UDP; see ports. Call it before Serve.
func (s *Server) OpenUDP(address string) (err error) {
	s.ports, err = openPorts(address)
	return err
}

// Close ends all streams of packets, and UDP.
func (s *Server) Close() {
	s.feeds.close()
	if s.ports != nil {
		s.ports.close()
	}
}

// Serve accepts connections until l is closed. setting is the name of its setting.
// secure is nil without TLS.
func (s *Server) Serve(l net.Listener, setting string, secure *tls.Config) error {
	return s.Accept(l, setting, secure, &s.Arrivals, func(a session.Arrived) (next func()) {
		x := newPeer(s, a)
		defer x.close()
		err := x.talk(a.Deadline)
		s.Log.Debug("RTSP connection ended", "protocol", x.protocol, "address", x.address, "reason", err)
		return nil
	})
}

// Strangers returns how many datagrams have come that are of no session.
func (s *Server) Strangers() int64 {
	if s.ports == nil {
		return 0
	}
	return s.ports.strangers.Load()
}

// Datagrams returns how many addresses media and reports are expected from over UDP.
func (s *Server) Datagrams() int {
	if s.ports == nil {
		return 0
	}
	return s.ports.listening()
}
