package rtmpserver

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/ingest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/rtmp"
)

const (
	// maxSilent is for how many windows of its rate a publisher may send other
	// messages without a frame.
	maxSilent = 3
)

// publish takes a publisher's messages until it ends. It reports whether the
// peer may make another request.
func (x *peer) publish(ctx context.Context, req *rtmp.Request) (again bool) {
	s := x.server
	info, err := x.info(req)
	var p *live.Publisher
	var done func()
	if err == nil {
		p, done, err = s.AdmitPublish(ctx, info)
	}
	if err != nil {
		x.refuse(session.RolePublisher, req, info, err)
		x.linger()
		return false
	}
	// Release the limits before the answer: the publisher may begin its next
	// publication as soon as it gets the answer.
	done = sync.OnceFunc(done)
	defer done()
	watchdog := session.NewWatchdog(x.conn, s.Times.Rate, s.For(info.Stream).MinPublishRate)
	c := s.Begin(session.RolePublisher, info)
	c.Attach(nil, watchdog.Stop)
	line := c.OnLine(x.conn, func() { _ = x.c.Ping(0) })
	if err = x.c.Accept(req); err == nil {
		err = x.receive(p, c, line, watchdog)
	}
	// A publisher that takes the stream over has it already.
	p.Close()
	err = c.End(err)
	done()
	switch {
	case errors.Is(err, session.ErrEndOfBody):
		return x.c.End(req) == nil
	case errors.Is(err, session.ErrPeerGone):
	default:
		code := rtmp.PublishBadName
		if errors.Is(err, session.ErrClosing) {
			code = publishFailed // after which encoders try again
		}
		_ = x.c.Refuse(req, code, session.Words(err))
		x.linger()
	}
	return false
}

// receive publishes what the peer sends, and returns why it ended:
// ErrEndOfBody when the peer says that it is done.
func (x *peer) receive(p *live.Publisher, c *session.Client, line *session.MediaLine, watchdog *session.Watchdog) error {
	// When the publication is ended from elsewhere, the read from the peer is interrupted.
	p.OnDone(watchdog.Stop)
	defer p.OnDone(nil)
	frames, before, silent := 0, 0, 0
	for {
		m, err := x.c.ReadMessage()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if err := watchdog.Check(x.r.TotalRead()); err != nil {
				return cmp.Or(p.Err(), err)
			}
			if silent++; frames > before {
				before, silent = frames, 0
			}
			if silent == maxSilent {
				return session.ErrIdle
			}
			continue
		}
		if err != nil {
			return session.FrameError(session.PeerError(err), x.server.Config().MaxFrame)
		}
		if m.Type == rtmp.TypeCommandAMF0 || m.Type == rtmp.TypeCommandAMF3 {
			action, err := x.c.Answer(m)
			m.Release()
			if err != nil {
				return session.PeerError(err)
			}
			if action == rtmp.Close {
				return session.ErrEndOfBody
			}
			continue
		}
		f, ok := ingest.Frame(m)
		if !ok {
			continue
		}
		frames++
		c.Count(flv.TagHeaderLen + f.Payload.Len() + flv.PrevTagSizeLen)
		line.Whole(x.r.TotalRead() - int64(x.r.Buffered()))
		if err := watchdog.Exclude(func() error { return p.Publish(f) }); err != nil {
			return err
		}
	}
}

// linger reads and discards what still comes, so that the peer gets the last
// message: closing a connection with unread bytes resets it.
func (x *peer) linger() {
	if x.conn.SetReadDeadline(time.Now().Add(lingering)) != nil {
		return
	}
	for {
		m, err := x.c.ReadMessage()
		if err != nil {
			// Discard also bytes that are not valid messages.
			_, _ = io.Copy(io.Discard, x.r)
			return
		}
		m.Release()
	}
}
