package web

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/brief"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/contain"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvbody"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/ingest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
)

// ingest publishes the body of a POST or PUT to /APP/NAME.flv as a stream. The
// answer is sent when the body has ended, or as soon as the request is refused.
func (w *Server) ingest(rw http.ResponseWriter, r *http.Request) {
	info, length, err := w.ingestRequest(r)
	var claim *session.Claim
	if err == nil {
		claim, err = w.AdmitPublish(r.Context(), info)
	}
	if err != nil {
		w.Refused(session.RolePublisher, info, err)
	}
	conn, buffered, hijackErr := hijack(rw)
	if hijackErr != nil {
		if claim != nil {
			claim.Release()
		}
		w.Log.Error("cannot take over a connection", "address", info.Address, "error", hijackErr)
		answerError(rw, http.StatusInternalServerError, "cannot publish on this connection")
		return
	}
	more := rw.Header()
	if err != nil {
		status, reason := session.Refusal(err)
		w.farewell(conn, status, errorText(reason), more)
		return
	}
	// Release the limits before the answer: the publisher may begin its next
	// publication as soon as it gets the answer.
	defer claim.Release()
	if !w.Group.Begin(conn) {
		conn.Close()
		return
	}
	defer w.Group.End(conn)
	if err := w.sendContinue(conn, r); err != nil {
		conn.Close()
		return
	}
	frames, err := w.publishBody(conn, buffered, length, info, claim)
	claim.Release()
	if errors.Is(err, session.ErrEndOfBody) {
		text := fmt.Sprintf("{\"stream\":%q,\"frames\":%d}\n", info.Stream, frames)
		w.farewell(conn, http.StatusOK, []byte(text), more)
		return
	}
	status, reason := ending(err)
	if status == 0 {
		conn.Close()
		return
	}
	w.farewell(conn, status, errorText(reason), more)
}

// ingestRequest returns the session that a request asks for, and the length of its body, -1
// for one in chunks.
func (w *Server) ingestRequest(r *http.Request) (info session.Info, length int64, err error) {
	info, err = w.session(r, session.FLV, session.FLVS)
	length = r.ContentLength
	switch {
	case err != nil:
	case !mayPublish(r):
		err = session.ErrOrigin
	case r.Header.Get("Content-Encoding") != "":
		err = session.ErrCoding
	case len(r.TransferEncoding) > 0:
		length = -1 // chunked is the only coding that net/http accepts
	case length <= 0:
		err = session.ErrLength
	}
	return info, length, err
}

// sendContinue asks for the body, if the client waits for that.
func (w *Server) sendContinue(conn net.Conn, r *http.Request) error {
	if !r.ProtoAtLeast(1, 1) || !strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
		return nil
	}
	conn.SetWriteDeadline(time.Now().Add(w.Times.Answer))
	_, err := io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\n")
	return err
}

// publishBody publishes a body as a session and closes its publication. It returns how many frames that
// was, and why it ended.
func (w *Server) publishBody(conn net.Conn, buffered *bufio.ReadWriter, length int64, info session.Info, claim *session.Claim) (frames int64, err error) {
	raw := sluice.NewBufReaderFrom(buffered, brief.Conn(conn))
	watchdog := session.WatchIngest(conn, w.PublisherTimes(info.Stream), w.For(info.Stream).MinPublishRate)
	body := flvbody.New(raw, length, w.Config().MaxFrame, func(err error) error {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return watchdog.Check(raw.TotalRead())
		}
		return session.PeerError(err) // the connection may have ended before the body has
	})
	c := w.Begin(session.RolePublisher, info)
	c.Attach(nil, func(error) { claim.Close() })
	body.Hold = w.Unfinished.Holder(c.Stop).Hold
	c.OnLine(conn, nil)
	err = contain.Run(w.Log, func() error { return w.receive(body, watchdog, claim, c) })
	body.Close()
	claim.Close()
	err = c.End(err)
	return c.Frames.Load(), err
}

// receive publishes the tags of a body and returns why that ended.
func (w *Server) receive(b *flvbody.Reader, watchdog *session.Watchdog, claim *session.Claim, c *session.Client) error {
	// When the publication is ended from elsewhere, the read from the publisher is
	// interrupted; not the answer, which has its own deadline.
	claim.OnDone(watchdog.Stop)
	defer claim.OnDone(nil)
	for {
		tag, err := b.Next()
		switch {
		case err == nil:
		case err == io.EOF:
			return session.ErrEndOfBody
		default:
			return session.FrameError(err, w.Config().MaxFrame)
		}
		if tag.Type == flv.TagScript && !ingest.Script(&tag.Payload) {
			tag.Payload.Release()
			continue
		}
		frame := live.Frame{Type: tag.Type, Time: tag.Time, Payload: tag.Payload} //sluice:moved
		header, ok := c.Came(&frame)
		if !ok {
			frame.Payload.Release()
			continue
		}
		if header.Payload.Valid() {
			if err := watchdog.Exclude(func() error { return claim.Publish(header) }); err != nil {
				frame.Payload.Release()
				return err
			}
		}
		if err := watchdog.Exclude(func() error { return claim.Publish(frame) }); err != nil {
			return err
		}
	}
}

// ending returns the answer to a publisher whose session ends before its body: an
// HTTP status, 0 when the publisher has gone, and a line.
func ending(err error) (status int, reason string) {
	var network net.Error
	switch {
	case errors.Is(err, session.ErrPeerGone):
		return 0, ""
	case errors.Is(err, session.ErrIdle), errors.Is(err, session.ErrTooSlow):
		return http.StatusRequestTimeout, err.Error()
	case errors.Is(err, session.ErrFrame):
		return http.StatusRequestEntityTooLarge, err.Error()
	case errors.Is(err, session.ErrClosing), errors.Is(err, session.ErrFull), errors.Is(err, live.ErrOverfull):
		return http.StatusServiceUnavailable, session.Words(err)
	case errors.Is(err, session.ErrElsewhere):
		return http.StatusConflict, err.Error()
	case errors.Is(err, session.ErrKicked), errors.Is(err, live.ErrTakenOver), errors.Is(err, live.ErrClosed):
		return http.StatusConflict, session.Words(err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return http.StatusBadRequest, "the body ends inside a tag, or before the first"
	case errors.As(err, &network):
		return 0, ""
	}
	return http.StatusBadRequest, err.Error()
}
