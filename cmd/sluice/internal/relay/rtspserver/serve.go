package rtspserver

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/waiting"
	"github.com/sluice-go/sluice/rtsp"
)

// Serve accepts connections until l is closed. setting is the name of its setting.
// secure is nil without TLS.
func (s *Server) Serve(l net.Listener, setting string, secure *tls.Config) error {
	return s.Accept(l, setting, secure, &s.Arrivals, func(a session.Arrived) (next func(over func())) {
		x := newPeer(s, a)
		defer x.close()
		err := x.talk()
		s.Log.Debug("RTSP connection ended", "protocol", x.protocol, "address", x.address, "reason", err)
		return nil
	})
}

// talk takes what the peer sends until the connection ends, and returns why.
func (x *peer) talk() (err error) {
	stop := context.AfterFunc(x.server.Ctx, x.interrupt)
	defer stop()
	for err == nil {
		err = x.next()
	}
	err = x.ending(err)
	if x.record != nil {
		x.record.end(err)
	}
	if x.play != nil {
		x.play.end(err)
	}
	return err
}

// ending is the reason why a connection ended, for an error of next.
func (x *peer) ending(err error) error {
	if x.server.Closing() {
		return session.ErrClosing
	}
	return session.PeerError(err)
}

// next takes one message or frame.
func (x *peer) next() error {
	item, err := x.reader.Read()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return x.late()
	}
	if err != nil {
		x.refuseSyntax(err)
		return err
	}
	if x.play != nil && x.play.viewer != nil {
		if session.Floods(x.r.TotalRead()-x.before, x.began) {
			item.Release()
			return session.ErrFloods
		}
	}
	switch {
	case item.Request != nil:
		defer item.Release()
		return x.request(item.Request)
	case item.Response != nil || x.record == nil:
		item.Release() // a viewer's reports
		return nil
	}
	return x.record.interleaved(item.Interleaved)
}

// late is called when a read deadline has passed. nil means: go on.
func (x *peer) late() error {
	switch {
	case x.record != nil && x.record.running():
		return x.record.check()
	case x.play != nil && x.play.viewer != nil && !x.server.Closing():
		if x.play.over() {
			return session.ErrDone
		}
		if x.play.udp != nil && time.Since(x.heard) > silence && time.Since(x.play.udp.heard()) > silence {
			return session.ErrIdle
		}
		return x.conn.SetReadDeadline(time.Now().Add(x.server.Times.Rate))
	case x.play != nil && x.play.viewer != nil:
		// The stream's end ends the viewer.
		<-x.play.viewer.Done()
	case x.requests > 0 && !x.server.Closing() && listen.Unread(listen.Bare(x.conn)) > 0:
		return x.conn.SetReadDeadline(time.Now().Add(x.server.Times.Idle)) // it is this server that is late
	}
	return session.ErrIdle
}

// request answers a request, borrowed.
func (x *peer) request(req *rtsp.Request) error {
	x.came()
	x.heard = time.Now()
	if x.requests++; x.requests > maxRequests && !x.running() {
		return errRequests
	}
	resp, err := x.answer(req)
	if resp != nil {
		if wrong := x.write(resp); err == nil {
			err = wrong
		}
	}
	if err != nil {
		return err
	}
	if !x.running() {
		return x.conn.SetReadDeadline(time.Now().Add(x.server.Times.Idle))
	}
	return nil
}

// answer returns the response to a request; nil when it was sent. An error ends the
// connection.
func (x *peer) answer(req *rtsp.Request) (*rtsp.Response, error) {
	if _, err := req.Header.CSeq(); err != nil {
		return req.Reply(rtsp.StatusBadRequest), err
	}
	if req.Version != rtsp.Version10 {
		resp := x.reply(req, rtsp.StatusVersionNotSupported)
		resp.Version = rtsp.Version10
		return resp, nil
	}
	if names := required(req.Header); names != "" {
		resp := x.reply(req, rtsp.StatusOptionNotSupported)
		resp.Header.Add("Unsupported", names)
		return resp, nil
	}
	switch req.Method {
	case rtsp.Options:
		resp := x.reply(req, rtsp.StatusOK)
		resp.Header.Add("Public", "OPTIONS, DESCRIBE, ANNOUNCE, SETUP, PLAY, RECORD, PAUSE, TEARDOWN, GET_PARAMETER, SET_PARAMETER")
		return resp, nil
	case rtsp.Describe:
		return x.describe(req)
	case rtsp.Announce:
		return x.announce(req)
	case rtsp.Setup:
		return x.setup(req)
	case rtsp.Play:
		return x.startPlaying(req)
	case rtsp.Record:
		return x.startRecording(req)
	case rtsp.Pause:
		return x.pause(req)
	case rtsp.Teardown:
		if err := x.write(x.reply(req, rtsp.StatusOK)); err != nil {
			return nil, err
		}
		return nil, x.teardown()
	case rtsp.GetParameter, rtsp.SetParameter:
		return x.reply(req, rtsp.StatusOK), nil
	}
	return x.reply(req, rtsp.StatusMethodNotAllowed), nil
}

// required returns the features that a request requires, with commas between them: there
// are none that the server has under a name (RFC 2326, sections 12.27 and 12.32).
func required(h rtsp.Header) string {
	var list []string
	for _, name := range []string{"Require", "Proxy-Require"} {
		for _, field := range h.Values(name) {
			for feature := range strings.SplitSeq(field, ",") {
				if feature = strings.TrimSpace(feature); feature != "" {
					list = append(list, feature)
				}
			}
		}
	}
	return strings.Join(list, ", ")
}

// refuseSyntax answers what is not RTSP, if it was a message at all.
func (x *peer) refuseSyntax(err error) {
	status := 0
	switch {
	case errors.Is(err, rtsp.ErrTooLong):
		status = rtsp.StatusEntityTooLarge
	case errors.Is(err, rtsp.ErrVersion):
		status = rtsp.StatusVersionNotSupported
	case errors.Is(err, rtsp.ErrSyntax):
		status = rtsp.StatusBadRequest
	default:
		return
	}
	// The connection ends anyway.
	_ = x.write(&rtsp.Response{Status: status, Reason: rtsp.StatusText(status)})
}

// teardown ends the session. A viewer's answer goes out before its connection is
// closed, so the peer has a moment to close it first.
func (x *peer) teardown() error {
	if x.record != nil {
		if x.record.udp.any() {
			// What was sent before this over UDP may come after it.
			waiting.For(lateness, x.server.Ctx.Done())
		}
		return session.ErrEndOfBody
	}
	if x.play != nil && x.play.viewer != nil && x.play.udp == nil {
		x.play.viewer.Pause(true)
		if x.conn.SetReadDeadline(time.Now().Add(lingering)) != nil {
			return session.ErrDone
		}
		for {
			item, err := x.reader.Read()
			if err != nil {
				return session.ErrDone
			}
			item.Release()
		}
	}
	return session.ErrDone
}

// lateness is by how much a datagram may be later than what was sent after it.
const lateness = 100 * time.Millisecond
