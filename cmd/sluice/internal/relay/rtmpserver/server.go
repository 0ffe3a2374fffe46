package rtmpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// Server is the RTMP side of a server.
type Server struct {
	*session.Host
	Arrivals listen.Arrivals // connections that have not made a request yet
}

// Serve accepts connections until l is closed. setting is the name of its
// setting. secure is nil without TLS.
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
		s.Group.RunOn(conn, func(conn net.Conn) (next func()) {
			conn, from, err := listen.Unwrap(conn)
			if err != nil {
				s.Log.Debug("no PROXY protocol header", "listener", setting, "address", from.String(), "error", err)
				return nil
			}
			address, _ := netip.ParseAddrPort(from.String())
			place, err := s.Arrivals.Enter(s.Ctx, address.Addr(), func(error) { conn.Close() })
			if err != nil {
				s.Log.Debug("connection turned away", "listener", setting, "address", from.String(), "error", err)
				return nil
			}
			defer place.Leave()
			deadline := time.Now().Add(s.Times.Header)
			if secure == nil {
				return s.talk(s.Ctx, place, conn, from.String(), session.RTMP, deadline)
			}
			encrypted := tls.Server(conn, secure)
			ctx, cancel := context.WithDeadline(s.Ctx, deadline)
			err = encrypted.HandshakeContext(ctx)
			cancel()
			if err != nil {
				s.Log.Debug("TLS handshake failed", "listener", setting, "address", from.String(), "error", err)
				return nil
			}
			place.Progress()
			return s.talk(s.Ctx, place, encrypted, from.String(), session.RTMPS, deadline)
		})
	}
}
