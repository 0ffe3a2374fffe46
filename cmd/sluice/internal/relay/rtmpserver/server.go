package rtmpserver

import (
	"crypto/tls"
	"net"
	"sync"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/intake"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// Server is the RTMP side of a server.
type Server struct {
	*session.Host
	Arrivals listen.Arrivals // connections that have not made a request yet
	Loops    intake.Loops    // that read publishers
	desks    sync.Pool       // of *desk, for viewers that have sent something
}

// Serve accepts connections until l is closed. setting is the name of its
// setting. secure is nil without TLS.
func (s *Server) Serve(l net.Listener, setting string, secure *tls.Config) error {
	s.Loops.Start()
	return s.Accept(l, setting, secure, &s.Arrivals, func(a session.Arrived) (next func(over func())) {
		protocol := session.RTMP
		if a.Secure {
			protocol = session.RTMPS
		}
		return s.talk(s.Ctx, a.Place, a.Conn, a.Address, protocol, a.Deadline)
	})
}
