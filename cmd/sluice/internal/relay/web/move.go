package web

import (
	"net"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
)

// Resume takes over a viewer of HTTP-FLV or WebSocket, whose stream was adopted. conn is
// transferred unless there is an error. Nothing happens until start is called; drop is
// called instead when the session is not taken over after all.
func (w *Server) Resume(conn *net.TCPConn, m *session.Moved, st *live.Stream) (start, drop func(), err error) {
	if m.Protocol == session.WS {
		return w.resumeWebSocket(conn, m, st)
	}
	how := session.Viewing{Unread: true}
	if m.Viewer.Form == live.FormChunked {
		how.Trailer = lastChunk
	}
	if _, err = w.ResumeViewer(conn, st, m, how); err != nil {
		return nil, nil, err
	}
	return func() {}, func() {}, nil
}

func (w *Server) resumeWebSocket(conn *net.TCPConn, m *session.Moved, st *live.Stream) (start, drop func(), err error) {
	in := &socketInlet{conn: conn, r: clientFrames{session.Prefilled(conn, m.Rest, w.Alloc), m.Inside}}
	v, err := w.ResumeViewer(conn, st, m, session.Viewing{Trailer: overFrame(), Inlet: in})
	if in.v = v; err != nil {
		in.r.Recycle()
		return nil, nil, err
	}
	return func() { w.Group.Run(conn, func(conn net.Conn) { in.serve(conn, v) }) }, in.r.Recycle, nil
}

// Pause implements session.Inlet, as do those below.
func (in *socketInlet) Pause() {
	in.Ask()
	in.conn.SetReadDeadline(time.Unix(1, 0))
}

func (in *socketInlet) State(m *session.Moved) error {
	m.Rest, m.Inside = in.rest, in.r.inside
	return nil
}

func (in *socketInlet) Resume() { in.Answer(false) }
func (in *socketInlet) Leave()  { in.Answer(true) }
