package rtspserver

import (
	"sync/atomic"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpfeed"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// A Server is the RTSP side of a server.
type Server struct {
	*session.Host
	Arrivals listen.Arrivals // connections that have not made a request yet
	feeds    *rtpfeed.Feeds
	ports    *ports       // nil: no UDP
	waiting  atomic.Int64 // bytes that have come over UDP and that publishers' goroutines have not taken
}

// New makes a Server whose viewers are sent the packets of feeds.
func New(host *session.Host, feeds *rtpfeed.Feeds) *Server {
	return &Server{Host: host, feeds: feeds}
}

// OpenUDP opens the ports for media over UDP; see ports. Call it before Serve.
func (s *Server) OpenUDP(address string) (err error) {
	s.ports, err = openPorts(address)
	return err
}

// Close ends UDP.
func (s *Server) Close() {
	if s.ports != nil {
		s.ports.close()
	}
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
