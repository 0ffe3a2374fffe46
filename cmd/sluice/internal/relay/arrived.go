package relay

import (
	"errors"
	"fmt"
	"net"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/handover"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
)

// arrived is what was taken over. Nothing of it goes on until start.
type arrived struct {
	host    *session.Host
	serving *protocols
	streams map[string]adopted
	starts  []func()
	drops   []func()
	orders  arrivedOrders
	into    handedOrders // what orders are added to
	thaw    func()

	publishing, watching int
}

type adopted struct {
	stream *live.Stream
	by     *live.Publisher // nil: none
}

// errDescriptor: a session came without its connection.
var errDescriptor = errors.New("no TCP connection came with a session")

// receive takes in what the predecessor has. The result is to be started or dropped, with an
// error too.
func (u *upgrades) receive(c *handover.Conn) (*arrived, error) {
	a := &arrived{host: u.host, serving: u.serving, into: u.orders, streams: map[string]adopted{}, thaw: u.host.Writer.Freeze()}
	sessions := 0
	for {
		m, err := c.Receive()
		if err != nil {
			return a, err
		}
		switch m.Kind {
		case handover.KindStream:
			err = a.stream(&m)
		case handover.KindSession:
			sessions++
			err = a.session(&m)
		case handover.KindWhole:
			var whole handover.Whole
			err = m.Into(&whole)
			if err == nil && (whole.Streams != len(a.streams) || whole.Sessions != sessions) {
				err = fmt.Errorf("%w: %d streams and %d sessions have come of %+v", handover.ErrProtocol, len(a.streams), sessions, whole)
			}
			return a, err
		default:
			var ok bool
			if ok, err = a.orders.take(&m); !ok {
				err = fmt.Errorf("%w: kind %d", handover.ErrProtocol, m.Kind)
			}
		}
		if m.File != nil {
			m.File.Close()
		}
		if err != nil {
			return a, err
		}
	}
}

func (a *arrived) stream(m *handover.Message) error {
	var st live.StreamState
	if err := m.Into(&st); err != nil {
		return err
	}
	stream, by, err := a.host.Hub.Adopt(st, m.Content)
	if err == nil {
		a.streams[st.Name] = adopted{stream, by}
	}
	return err
}

func (a *arrived) session(m *handover.Message) error {
	var st session.Moved
	if err := m.Into(&st); err != nil {
		return err
	}
	on, ok := a.streams[st.Stream]
	if !ok || (st.Role == session.RoleViewer) != (st.Viewer != nil) {
		return fmt.Errorf("%w: a %s of %.200q", handover.ErrProtocol, st.Role, st.Stream)
	}
	if m.File == nil {
		return errDescriptor
	}
	opened, err := net.FileConn(m.File)
	if err != nil {
		return err
	}
	conn, ok := opened.(*net.TCPConn)
	if !ok {
		opened.Close()
		return errDescriptor
	}
	var start, drop func()
	switch st.Protocol {
	case session.RTMP:
		start, drop, err = a.serving.rtmp.Resume(conn, &st, on.stream, on.by)
	case session.FLV, session.WS:
		if st.Role != session.RoleViewer {
			err = fmt.Errorf("%w: a publisher by %s", handover.ErrProtocol, st.Protocol)
			break
		}
		start, drop, err = a.serving.web.Resume(conn, &st, on.stream)
	default:
		err = fmt.Errorf("%w: a session of %.20q", handover.ErrProtocol, st.Protocol)
	}
	if err != nil {
		conn.Close()
		return err
	}
	a.starts, a.drops = append(a.starts, start), append(a.drops, drop)
	if st.Role == session.RolePublisher {
		a.publishing++
	} else {
		a.watching++
	}
	return nil
}

// drop lets go of everything, without a byte to anyone: the predecessor goes on with it.
func (a *arrived) drop() {
	for _, c := range a.host.Register.List() {
		c.Forget(a.host.Writer)
	}
	for _, f := range a.drops {
		f()
	}
	a.thaw()
}

// start goes on with everything: viewers first, so that they are there when frames come.
func (a *arrived) start() {
	a.into.resume(&a.orders)
	for _, s := range a.streams {
		a.into.to.recorders.goOn(s.stream)
	}
	a.thaw()
	for _, f := range a.starts {
		f()
	}
}

func (a *arrived) publishers() int { return a.publishing }
func (a *arrived) viewers() int    { return a.watching }
