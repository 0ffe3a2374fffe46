package session

import (
	"errors"
	"fmt"
	"net"

	"github.com/sluice-go/sluice/live"
)

// A Viewing describes how a stream is sent to a viewer.
type Viewing struct {
	Form    live.Form
	Prelude []byte // sent first of all
	Trailer []byte // sent when the stream is over
	Unread  bool   // nothing is read from the connection
	Done    func() // called once, when the viewer has ended; the done of AdmitPlay
	// Why, if it is not nil, is asked when the stream that is sent is over: an error, if
	// that is not because the one that it is made of is.
	Why func() error
	// After is live.ViewerOptions.After.
	After live.Mark
	// Received returns what the peer reports on what it is sent; nil: it does not report.
	Received Received
	// Readable is live.ViewerOptions.OnReadable.
	Readable func()
	// Inlet is what reads from the connection, if it can stand still for another process.
	Inlet Inlet
}

// Watch transfers conn, also when it fails, to the live.Writer: from then on only
// that writes to it and closes it. Watch registers the viewer, and calls how.Done
// when the viewer has ended.
func (h *Host) Watch(conn net.Conn, st *live.Stream, info Info, o PlayOptions, how Viewing) (*live.Viewer, error) {
	v, err := h.TryWatch(conn, st, info, o, how)
	if err != nil {
		conn.Close()
	}
	return v, err
}

// TryWatch is like Watch, but on failure conn stays the caller's.
func (h *Host) TryWatch(conn net.Conn, st *live.Stream, info Info, o PlayOptions, how Viewing) (*live.Viewer, error) {
	c, done, why := h.Begin(RoleViewer, info), how.Done, how.Why // OnClose must not keep how, with its bytes
	h.Group.Hold()                                               // until the viewer's end is logged
	settings, adapt := h.For(st.Name()), false
	if o.Merge < 0 {
		o.Merge, adapt = settings.Merge, settings.MergeAdapt
	}
	v, err := h.Writer.Add(conn, st, live.ViewerOptions{
		Name:  c.ID,
		Form:  how.Form,
		Merge: o.Merge,
		Adapt: adapt,
		NoGOP: o.NoGOP || !settings.GOP,
		// A viewer that waited for the stream gets all of it.
		FromStart:  !o.asked.IsZero() && st.Since().After(o.asked),
		After:      how.After,
		Prelude:    how.Prelude,
		Trailer:    how.Trailer,
		Unread:     how.Unread,
		OnReadable: how.Readable,
		OnClose:    h.closed(c, done, why, how.Received),
	})
	if err != nil {
		defer h.Group.Release()
		if errors.Is(err, live.ErrClosed) {
			err = fmt.Errorf("%w: %s has just ended", ErrNotFound, info.Stream)
		}
		c.End(err)
		done()
		return nil, err
	}
	c.views(v, how.Received)
	c.movesViewer(conn, v, how.Inlet)
	return v, nil
}

// closed is live.ViewerOptions.OnClose for a session.
func (h *Host) closed(c *Client, done func(), why func() error, received Received) func(*live.Viewer, error) {
	return func(v *live.Viewer, err error) {
		defer h.Group.Release()
		defer done()
		if errors.Is(err, live.ErrEnded) && why != nil {
			if reason := why(); reason != nil {
				err = reason
			}
		}
		if errors.Is(err, live.ErrMoved) {
			return // it has left the register
		}
		if errors.Is(err, live.ErrGone) {
			err = ErrPeerGone
		}
		c.Attach(viewerStats(v, received), nil)
		if PeerError(err) == ErrPeerGone {
			err = ErrPeerGone // not "write: broken pipe"
		}
		c.End(err)
	}
}

// movesViewer says that a viewer can be given away, if it can.
func (s *Client) movesViewer(conn net.Conn, v *live.Viewer, in Inlet) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	switch s.Protocol {
	case RTMP, WS:
		if in == nil {
			return
		}
	case FLV:
	default:
		return
	}
	s.moves(&Mover{Inlet: in, Viewer: v, Conn: tcp})
}
