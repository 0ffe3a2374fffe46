package rtmpserver

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/rtmp"
)

// Serve accepts connections until l is closed. setting is the name of its
// setting. secure is nil without TLS.
func (s *Server) Serve(l net.Listener, setting string, secure *tls.Config) error {
	s.Loops.Start()
	return s.Accept(l, setting, secure, &s.Arrivals, func(a session.Arrived) (next func(over func())) {
		protocol := session.RTMP
		if a.Secure {
			protocol = session.RTMPS
		}
		return s.talk(s.Ctx, a, protocol)
	})
}

// talk takes the first request of a connection, transferred, and returns what serves it on a
// goroutine of its own: a handshake needs much more stack than the rest, and a grown stack stays
// large. ctx is done when the server shuts down. The place is released at the request.
func (s *Server) talk(ctx context.Context, a session.Arrived, protocol string) (next func(over func())) {
	x := newPeer(s, a.Conn, a.Address, protocol)
	defer func() {
		if next == nil {
			x.close()
		}
	}()
	req, err := x.begin(ctx, a)
	a.Place.Leave()
	switch {
	case err != nil:
		x.noRequest(err)
		return nil
	case req.Kind == rtmp.Play:
		return x.play(ctx, req)
	}
	return func(over func()) { x.publications(ctx, over, func() bool { return x.publish(ctx, req) }) }
}

// publications serves a publisher, whose first publication first is. Some encoders publish
// again on the same connection.
func (x *peer) publications(ctx context.Context, over func(), first func() bool) {
	for again := first(); again; {
		req, err := x.request(ctx, x.server.Late(x.conn))
		if err != nil {
			x.noRequest(err)
			break
		}
		if req.Kind == rtmp.Play {
			if x.enlisted {
				loop, ended := x.loop, over
				over = func() {
					x.server.Group.End(loop)
					ended()
				}
			}
			x.play(ctx, req)(over)
			return
		}
		again = x.publish(ctx, req)
	}
	x.close()
	over()
}
