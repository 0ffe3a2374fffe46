package rtmpserver

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/rtmp"
)

const (
	// MaxCommand is the longest message of who has not been admitted, and the
	// longest command of who has. A request has 1 or 2 KiB.
	MaxCommand = 16 << 10
	// maxChunkStreams is on how many chunk streams a peer may have messages
	// unfinished. Encoders use five.
	maxChunkStreams = 32
	// lingering is how long a session reads on after its last word.
	lingering = 500 * time.Millisecond
)

// peer is one RTMP connection.
type peer struct {
	server   *session.Host
	conn     net.Conn
	address  string // where it comes from, host:port
	protocol string
	r        *sluice.BufReader
	w        *sluice.BufWriter
	out      *output
	c        *rtmp.Conn
	refused  atomic.Bool // there will be no viewer
}

// talk talks to one connection, transferred, until its session has ended.
// The handshake and the first request have to be through by deadline. ctx is
// done when the server shuts down. place is given back with the first request.
func (s *Server) talk(ctx context.Context, place *listen.Arrival, conn net.Conn, address, protocol string, deadline time.Time) {
	x := newPeer(s.Host, conn, address, protocol)
	defer x.close()
	req, err := x.beginElsewhere(ctx, place, deadline)
	place.Leave()
	for err == nil {
		if req.Kind == rtmp.Play {
			x.play(ctx, req)
			return
		}
		if !x.publish(ctx, req) {
			return
		}
		// Some encoders publish again on the same connection.
		req, err = x.request(ctx, time.Now().Add(s.Times.Header))
	}
	s.Log.Debug("no request", "protocol", protocol, "address", address, "error", err)
}

func newPeer(s *session.Host, conn net.Conn, address, protocol string) *peer {
	x := &peer{
		server:   s,
		conn:     conn,
		address:  address,
		protocol: protocol,
		r:        &sluice.BufReader{Allocator: s.Alloc},
		out:      &output{conn: conn, within: s.Times.Answer},
	}
	x.r.Reset(conn)
	x.w = sluice.NewBufWriter(x.out, sluice.Options{Allocator: s.Alloc})
	x.c = rtmp.NewConn(x.r, x.w, rtmp.Options{Limits: rtmp.Limits{
		Message: s.Config().MaxFrame, Data: s.Config().MaxFrame, Command: MaxCommand, ChunkStreams: maxChunkStreams,
	}})
	return x
}

// close closes the connection, with a goodbye where TLS wants one, and gives
// back what the session holds.
func (x *peer) close() {
	x.conn.Close()
	x.c.Recycle()
	x.r.Recycle()
	x.w.Recycle()
}

// beginElsewhere is begin on another goroutine: the handshake needs much more
// stack than all that follows, and a stack that has grown stays. It halves what
// a viewer costs.
func (x *peer) beginElsewhere(ctx context.Context, place *listen.Arrival, deadline time.Time) (req *rtmp.Request, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		req, err = x.begin(ctx, place, deadline)
	}()
	<-done
	return req, err
}

// begin takes the connection to its first request.
func (x *peer) begin(ctx context.Context, place *listen.Arrival, deadline time.Time) (*rtmp.Request, error) {
	x.out.until(deadline)
	if err := x.conn.SetReadDeadline(deadline); err != nil {
		return nil, err
	}
	stop := x.endWith(ctx)
	defer stop()
	if err := x.c.ServerHandshake(); err != nil {
		return nil, err
	}
	place.Progress()
	return x.request(ctx, deadline)
}

// request returns what the peer asks for by deadline.
func (x *peer) request(ctx context.Context, deadline time.Time) (*rtmp.Request, error) {
	x.out.until(deadline)
	if err := x.conn.SetReadDeadline(deadline); err != nil {
		return nil, err
	}
	stop := x.endWith(ctx)
	defer stop()
	req, err := x.c.ReadRequest()
	if err != nil {
		return nil, err
	}
	x.out.until(time.Time{})
	return req, x.conn.SetReadDeadline(time.Time{})
}

// endWith ends what waits for the peer when ctx is done, until stop is called.
func (x *peer) endWith(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() { x.conn.SetDeadline(time.Unix(1, 0)) })
}

// info says who is there and what for.
func (x *peer) info(req *rtmp.Request) (session.Info, error) {
	i := session.Info{
		Protocol: x.protocol,
		Address:  x.address,
		Agent:    req.FlashVer,
		Query:    req.Query,
		Via:      edge.PathOfFlashVer(req.FlashVer),
	}
	var err error
	i.Stream, err = session.StreamName(req.App, req.Stream)
	return i, err
}

// refuse tells the peer why it does not get what it asked for.
func (x *peer) refuse(r session.Role, req *rtmp.Request, info session.Info, err error) {
	x.server.Refused(r, info, err)
	_, reason := session.Refusal(err)
	// A peer that does not take its answer has none.
	_ = x.c.Refuse(req, refusalCode(r, err), reason)
}

// publishFailed is a refusal that says nothing about the name.
const publishFailed = "NetStream.Publish.Failed"

// refusalCode is what RTMP calls a refusal.
func refusalCode(r session.Role, err error) string {
	switch {
	case r == session.RolePublisher && (errors.Is(err, session.ErrBusy) || errors.Is(err, session.ErrBadRequest)):
		return rtmp.PublishBadName
	case r == session.RolePublisher && errors.Is(err, access.ErrDenied):
		return rtmp.PublishDenied
	case r == session.RolePublisher:
		return publishFailed
	case errors.Is(err, session.ErrNotFound):
		return rtmp.PlayStreamNotFound
	}
	return rtmp.PlayFailed
}
