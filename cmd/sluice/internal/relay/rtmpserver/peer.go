package rtmpserver

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/intake"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/rtmp"
)

// lingering is how long a session goes on reading after its last message.
const lingering = 500 * time.Millisecond

// peer is one RTMP connection.
type peer struct {
	*desk
	server   *Server
	conn     net.Conn
	address  string // of the peer, host:port
	protocol string
	out      *session.Output
	loop     *intake.Conn // conn, where a loop can read it; nil elsewhere
	enlisted bool         // loop is in the server's Group
	refused  atomic.Bool  // no viewer will be made
}

func (x *peer) noRequest(err error) {
	x.server.Log.Debug("no request", "protocol", x.protocol, "address", x.address, "error", err)
}

func newPeer(s *Server, conn net.Conn, address, protocol string) *peer {
	x := &peer{server: s, conn: conn, address: address, protocol: protocol, out: session.NewOutput(conn, s.Times.Answer)}
	x.mayLoop()
	x.desk = s.newDesk(x.conn, x.out)
	return x
}

// mayLoop makes conn one that a loop can read, where that is possible.
func (x *peer) mayLoop() {
	tcp, ok := x.conn.(*net.TCPConn)
	if !ok {
		return
	}
	if x.loop = x.server.Loops.Take(tcp); x.loop != nil {
		x.conn = x.loop
		x.out.Over(x.loop)
	}
}

// enlist makes the server close the connection at its end: its descriptor is not the
// one that was accepted once a loop has read it.
func (x *peer) enlist() bool {
	x.enlisted = x.enlisted || x.server.Group.Begin(x.loop)
	return x.enlisted
}

// leaveLoops makes conn what was accepted, or what is now in its place.
func (x *peer) leaveLoops() {
	if x.loop == nil {
		return
	}
	if tcp := x.loop.TCP(); tcp != nil {
		x.conn = tcp
		x.out.Over(tcp)
	}
	x.loop = nil
}

// close closes the connection and releases the buffers of the session.
func (x *peer) close() {
	x.conn.Close()
	if x.enlisted {
		x.server.Group.End(x.loop)
	}
	x.drop()
}

// begin does the handshake and returns the first request.
func (x *peer) begin(ctx context.Context, a session.Arrived) (*rtmp.Request, error) {
	stop := x.endWith(ctx)
	defer stop()
	if err := x.c.ServerHandshake(); err != nil {
		return nil, err
	}
	a.Place.Progress()
	return x.request(ctx, a.Came)
}

// request returns the peer's next request. came is called in any case.
func (x *peer) request(ctx context.Context, came func()) (*rtmp.Request, error) {
	stop := x.endWith(ctx)
	defer stop()
	req, err := x.c.ReadRequest()
	came()
	if err != nil {
		return nil, err
	}
	return req, x.conn.SetReadDeadline(time.Time{})
}

// endWith interrupts reads and writes when ctx is done, until stop is called.
func (x *peer) endWith(ctx context.Context) (stop func() bool) {
	conn := x.conn
	return context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
}

// info returns the session's Info for a request.
func (x *peer) info(req *rtmp.Request) (session.Info, error) {
	i := session.Info{
		Protocol: x.protocol,
		Address:  x.address,
		Agent:    req.FlashVer,
		Query:    req.Query,
		Via:      edge.PathOfFlashVer(req.FlashVer),
	}
	var err error
	app, name := req.App, req.Stream
	if slash := strings.LastIndexByte(app, '/'); name == "" && slash >= 0 {
		// An encoder whose whole address stands in one field, and MediaMTX always.
		app, name = app[:slash], app[slash+1:]
	}
	i.Stream, err = session.StreamName(app, name)
	return i, err
}

// refuse tells the peer why it does not get what it asked for.
func (x *peer) refuse(r session.Role, req *rtmp.Request, info session.Info, err error) {
	x.server.Refused(r, info, err)
	_, reason := session.Refusal(err)
	// An error does not matter: the session ends anyway.
	_ = x.c.Refuse(req, refusalCode(r, err), reason)
}

// publishFailed is the code for refusals that are not about the name.
const publishFailed = "NetStream.Publish.Failed"

// refusalCode returns the RTMP status code of a refusal.
func refusalCode(r session.Role, err error) string {
	switch {
	case r == session.RolePublisher && (errors.Is(err, session.ErrBusy) || errors.Is(err, session.ErrLoop) || errors.Is(err, session.ErrBadRequest)):
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
