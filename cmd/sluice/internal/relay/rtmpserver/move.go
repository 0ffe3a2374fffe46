package rtmpserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/rtmp"
)

// errMoved: what came from another process is not the state of an RTMP session.
var errMoved = errors.New("no state of an RTMP session")

// resumeDesk returns a desk that goes on with a connection.
func (s *Server) resumeDesk(conn net.Conn, w *session.Output, in *inbound, st *rtmp.ConnState) (*desk, error) {
	if st == nil {
		return nil, errMoved
	}
	d := &desk{r: session.Prefilled(conn, st.Rest, s.Alloc)}
	if in != nil {
		d.w = sluice.NewBufWriter(in, sluice.Options{Allocator: s.Alloc})
	} else {
		d.w = sluice.NewBufWriter(w, sluice.Options{Allocator: s.Alloc})
	}
	d.c = rtmp.NewConn(d.r, d.w, s.options(d))
	if err := d.c.Restore(st); err != nil {
		d.drop()
		return nil, err
	}
	return d, nil
}

// Resume takes over a session, whose stream st was adopted, with its publisher p. conn is
// transferred unless there is an error. Nothing happens until start is called; drop is
// called instead when the session is not taken over after all.
func (s *Server) Resume(conn *net.TCPConn, m *session.Moved, st *live.Stream, p *live.Publisher) (start, drop func(), err error) {
	if m.Role == session.RoleViewer {
		return s.resumeViewer(conn, m, st)
	}
	if p == nil {
		return nil, nil, fmt.Errorf("%w: a publisher of a stream that has none", errMoved)
	}
	x := &peer{server: s, conn: conn, address: m.Address, protocol: m.Protocol, out: session.NewOutput(conn, s.Times.Answer)}
	x.mayLoop()
	if x.desk, err = s.resumeDesk(x.conn, x.out, nil, m.RTMP); err != nil {
		return nil, nil, err
	}
	c, claim, begin := s.ResumePublisher(m, p)
	req := &rtmp.Request{Kind: rtmp.Publish, App: m.App, Stream: m.Name, StreamID: playStream}
	start = func() {
		over := func() {
			conn.Close()
			s.Group.End(conn)
		}
		if !s.Group.Begin(conn) {
			claim.Close()
			c.End(session.ErrClosing)
			claim.Release()
			x.close()
			return
		}
		begin()
		go x.publications(s.Ctx, over, func() bool { return x.publishing(req, claim, c, nil) })
	}
	return start, func() {
		claim.Release()
		x.close()
	}, nil
}

func (s *Server) resumeViewer(conn *net.TCPConn, m *session.Moved, st *live.Stream) (start, drop func(), err error) {
	in := &inbound{server: s, conn: conn, began: m.Began, reading: true}
	in.over = func() {
		conn.Close()
		s.Group.End(conn)
	}
	d, err := s.resumeDesk(conn, nil, in, m.RTMP)
	if err != nil {
		return nil, nil, err
	}
	in.received = m.Received - d.r.TotalRead()
	how := session.Viewing{Trailer: playEnd(), Readable: in.readable, Done: in.viewerEnded, Inlet: in}
	v, err := s.ResumeViewer(conn, st, m, how)
	if err != nil {
		d.drop()
		return nil, nil, err
	}
	in.viewer.Store(v)
	start = func() {
		if !s.Group.Begin(conn) {
			conn.Close()
			return
		}
		go in.goOn(d)
	}
	return start, d.drop, nil
}

// goOn reads what there is, and rests.
func (in *inbound) goOn(d *desk) {
	if err := in.receiveFor(d, brief); !errors.Is(err, os.ErrDeadlineExceeded) {
		in.end(d, err)
		return
	}
	in.rest(d)
}

// Pause implements session.Inlet, as do those below.
func (in *inbound) Pause() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.hold = hold{asked: make(chan struct{})}
	if !in.reading {
		in.reading = true
		in.holds()
	}
}

func (in *inbound) Await(ctx context.Context) error {
	in.mu.Lock()
	asked, ended := in.hold.asked, in.ended
	in.mu.Unlock()
	if ended {
		return session.ErrMoved
	}
	select {
	case <-asked:
		return nil
	case <-ctx.Done():
		return session.ErrMoved // it is about to end: only then one reads for long
	}
}

func (in *inbound) State(m *session.Moved) error {
	var st rtmp.ConnState
	m.Began, m.Received = in.began, in.received
	if d := in.kept; d != nil {
		var err error
		if st, err = d.c.State(); err != nil {
			return err
		}
		m.Received += d.r.TotalRead()
	} else {
		st = in.state.State()
	}
	m.RTMP = &st
	return nil
}

func (in *inbound) Resume() {
	in.mu.Lock()
	held := in.hold.held
	in.hold = hold{}
	in.mu.Unlock()
	if held {
		in.settle()
	}
}

func (in *inbound) Leave() {
	if in.kept != nil {
		in.kept.drop()
		in.kept = nil
	}
	in.over()
}
