package rtmpserver

import (
	"io"
	"net"
	"sync"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/intake"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/rtmp"
)

// Server is the RTMP side of a server.
type Server struct {
	*session.Host
	Arrivals listen.Arrivals // connections that have not made a request yet
	Loops    intake.Loops    // that read publishers
	desks    sync.Pool       // of *desk, for viewers that have sent something
}

const (
	// MaxCommand is the longest message of a peer that is not admitted yet, and
	// the longest command of one that is. A request has 1 or 2 KiB.
	MaxCommand = 16 << 10
	// maxChunkStreams is on how many chunk streams a peer may have unfinished
	// messages. Encoders use five.
	maxChunkStreams = 32
)

// A desk is what speaks RTMP over one connection. It takes some 2 KB, so viewers that
// say nothing have none: see inbound.
type desk struct {
	r *sluice.BufReader
	w *sluice.BufWriter
	c *rtmp.Conn

	holder *session.Holder // of a publisher; nil: it is none
}

// newDesk returns one for a connection, whose replies go to w.
func (s *Server) newDesk(conn net.Conn, w io.Writer) *desk {
	d := &desk{r: &sluice.BufReader{Allocator: s.Alloc}}
	d.r.Reset(conn)
	d.w = sluice.NewBufWriter(w, sluice.Options{Allocator: s.Alloc})
	d.c = rtmp.NewConn(d.r, d.w, s.options(d))
	return d
}

// options are those of a desk's connections.
func (s *Server) options(d *desk) rtmp.Options {
	return rtmp.Options{Limits: rtmp.Limits{
		Message: s.Config().MaxFrame, Data: s.Config().MaxFrame, Command: MaxCommand, ChunkStreams: maxChunkStreams,
		Hold: d.hold,
	}}
}

// takeDesk returns one for a viewer's connection, which has rested.
func (s *Server) takeDesk(conn net.Conn, w io.Writer, state *rtmp.Resting) *desk {
	d, ok := s.desks.Get().(*desk)
	if ok {
		d.r.Reset(conn)
		d.w.Reset(w)
	} else {
		d = s.newDesk(conn, w)
	}
	d.c.Wake(state)
	return d
}

// putDesk keeps a desk, whose connection rests, for another one.
func (s *Server) putDesk(d *desk) {
	d.drop()
	s.desks.Put(d)
}

// hold is rtmp.Limits.Hold.
func (d *desk) hold(bytes int) error {
	if d.holder == nil {
		return nil
	}
	return d.holder.Hold(bytes)
}

// drop releases the buffers.
func (d *desk) drop() {
	d.c.Recycle()
	d.r.Recycle()
	d.w.Recycle()
}
