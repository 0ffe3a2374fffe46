package rtmpserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/rtmp"
)

// errMoved: what came from another process is not the state of an RTMP session.
var errMoved = errors.New("no state of an RTMP session")

// A publication is a publisher's session that can stand still and be given to another
// process. Its goroutine asks stands before each message.
type publication struct {
	session.Standstill
	x     *peer
	req   *rtmp.Request
	state rtmp.ConnState
}

// stands reports whether the session was given away, for which it may stand still before.
// again is called when it goes on after that.
func (p *publication) stands(again func()) (moved bool) {
	if !p.Asked() {
		return false
	}
	moved = p.Stand(func() (err error) {
		p.state, err = p.x.c.State()
		return err
	})
	if !moved {
		again()
	}
	return moved
}

// Pause implements session.Inlet, as do those below.
func (p *publication) Pause() {
	p.Ask()
	p.x.conn.SetReadDeadline(time.Unix(1, 0))
}

func (p *publication) State(m *session.Moved) error {
	m.RTMP, m.App, m.Name = &p.state, p.req.App, p.req.Stream
	return nil
}

func (p *publication) Resume() { p.Answer(false) }
func (p *publication) Leave()  { p.Answer(true) }

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
	c, done, begin := s.ResumePublisher(m, p)
	req := &rtmp.Request{Kind: rtmp.Publish, App: m.App, Stream: m.Name, StreamID: playStream}
	start = func() {
		over := func() {
			conn.Close()
			s.Group.End(conn)
		}
		if !s.Group.Begin(conn) {
			p.Close()
			c.End(session.ErrClosing)
			done()
			x.close()
			return
		}
		begin()
		go x.publications(s.Ctx, over, func() bool { return x.publishing(req, p, c, done, nil) })
	}
	return start, func() {
		done()
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

// A hold makes an inbound stand still: nothing reads while it is held.
type hold struct {
	asked chan struct{} // closed when it is held; nil: it is not to be
	held  bool
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

// holds makes it held. The lock is held.
func (in *inbound) holds() {
	in.hold.held = true
	close(in.hold.asked)
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
