package rtspserver

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"time"

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
	var pause time.Duration
	for {
		conn, err := l.Accept()
		if err != nil {
			if s.Closing() {
				return nil
			}
			if errors.Is(err, net.ErrClosed) {
				return err
			}
			// A temporary error, for example no free descriptors. The pauses are
			// those of net/http.
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			s.Log.Warn("cannot accept", "listener", setting, "error", err, "retry", pause)
			wait := time.NewTimer(pause)
			select {
			case <-wait.C:
			case <-s.Ctx.Done():
				wait.Stop()
			}
			continue
		}
		pause = 0
		s.Group.Run(conn, func(conn net.Conn) { s.serve(conn, setting, secure) })
	}
}

// serve serves one connection, borrowed until it returns.
func (s *Server) serve(conn net.Conn, setting string, secure *tls.Config) {
	conn, from, err := listen.Unwrap(conn)
	if err != nil {
		s.Log.Debug("no PROXY protocol header", "listener", setting, "address", from.String(), "error", err)
		return
	}
	address, _ := netip.ParseAddrPort(from.String())
	place, err := s.Arrivals.Enter(s.Ctx, address.Addr(), func(error) { conn.Close() })
	if err != nil {
		s.Log.Debug("connection turned away", "listener", setting, "address", from.String(), "error", err)
		return
	}
	defer place.Leave()
	deadline := time.Now().Add(s.Times.Header)
	protocol := session.RTSP
	if secure != nil {
		protocol = session.RTSPS
		encrypted := tls.Server(conn, secure)
		ctx, cancel := context.WithDeadline(s.Ctx, deadline)
		err = encrypted.HandshakeContext(ctx)
		cancel()
		if err != nil {
			s.Log.Debug("TLS handshake failed", "listener", setting, "address", from.String(), "error", err)
			return
		}
		place.Progress()
		conn = encrypted
	}
	x := newPeer(s, place, conn, address, protocol)
	defer x.close()
	err = x.talk(deadline)
	s.Log.Debug("RTSP connection ended", "protocol", protocol, "address", from.String(), "reason", err)
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
