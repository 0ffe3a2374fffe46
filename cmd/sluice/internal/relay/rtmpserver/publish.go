package rtmpserver

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/contain"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/rtmp"
)

// publish takes a publisher's messages until it ends. It reports whether the
// peer may make another request.
func (x *peer) publish(ctx context.Context, req *rtmp.Request) (again bool) {
	s := x.server
	info, err := x.info(req)
	var claim *session.Claim
	if err == nil {
		claim, err = s.AdmitPublish(ctx, info)
	}
	if err != nil {
		x.refuse(session.RolePublisher, req, info, err)
		x.linger()
		return false
	}
	return x.publishing(req, claim, s.Begin(session.RolePublisher, info), func() error { return x.c.Accept(req) })
}

// publishing takes a publisher's messages, who is in the register, until it ends, or until
// another process goes on with it. accept answers the request, nil when that was done.
func (x *peer) publishing(req *rtmp.Request, claim *session.Claim, c *session.Client, accept func() error) (again bool) {
	s := x.server
	// Release the limits before the answer: the publisher may begin its next
	// publication as soon as it gets the answer.
	defer claim.Release()
	watchdog := session.NewWatchdog(x.conn, s.PublisherTimes(c.Stream), s.For(c.Stream).MinPublishRate)
	c.Attach(nil, watchdog.Stop)
	x.holder = s.Unfinished.Holder(c.Stop)
	defer func() {
		_ = x.holder.Hold(0)
		x.holder = nil
	}()
	line := c.OnLine(x.conn, func() { _ = x.c.Ping(0) })
	var err error
	if accept != nil {
		err = accept()
	}
	if err == nil {
		still := &publication{x: x, req: req}
		in := &reception{in: x.c, from: x.r, c: c, line: line, x: x, claim: claim, watchdog: watchdog, still: still}
		err = contain.Run(s.Log, in.run)
		still.End()
	}
	if errors.Is(err, session.ErrMoved) {
		return false
	}
	// A publisher that takes the stream over has it already.
	claim.Close()
	err = c.End(err)
	claim.Release()
	switch {
	case errors.Is(err, session.ErrEndOfBody):
		return x.c.End(req) == nil
	case errors.Is(err, session.ErrPeerGone):
	default:
		code := rtmp.PublishBadName
		if errors.Is(err, session.ErrClosing) {
			code = publishFailed // after which encoders try again
		}
		x.c.Recycle() // what it holds of a message; linger reads on without
		_ = x.c.Refuse(req, code, session.Words(err))
		x.linger()
	}
	return false
}

// linger reads and discards what still comes, so that the peer gets the last
// message: closing a connection with unread bytes resets it.
func (x *peer) linger() {
	if x.conn.SetReadDeadline(time.Now().Add(lingering)) != nil {
		return
	}
	_, _ = io.Copy(io.Discard, x.r)
}
