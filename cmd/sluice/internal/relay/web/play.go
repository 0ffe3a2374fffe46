package web

import (
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
)

// play answers GET of /APP/NAME.flv with the stream, over WebSocket if requested,
// until the stream ends or the client leaves.
func (w *Server) play(rw http.ResponseWriter, r *http.Request) {
	upgrade := websocket.IsWebSocketUpgrade(r)
	plain, secure := session.FLV, session.FLVS
	if upgrade {
		plain, secure = session.WS, session.WSS
	}
	info, err := w.session(r, plain, secure)
	if err == nil && w.place(rw, r, info.Stream) {
		return
	}
	if err == nil && upgrade && !w.cors().admits(r) {
		err = session.ErrOrigin // the server has to check the origin, browsers do not (RFC 6455, section 10.2)
	}
	var o session.PlayOptions
	if err == nil {
		o, err = session.ParsePlayOptions(info.Query)
	}
	if err == nil {
		// Waiting for a stream may take longer than the normal limits.
		waits := http.NewResponseController(rw)
		waits.SetReadDeadline(time.Time{})
		waits.SetWriteDeadline(time.Time{})
	}
	if err == nil && info.Query.Has(session.Rewinding) {
		if err = w.playRecorded(rw, r, info, upgrade); err == nil {
			return
		}
	}
	var st *live.Stream
	var done func()
	if err == nil {
		st, done, err = w.AdmitPlay(r.Context(), info, o)
	}
	if err != nil {
		w.Refused(session.RoleViewer, info, err)
		status, reason := session.Refusal(err)
		http.NewResponseController(rw).SetWriteDeadline(time.Now().Add(w.Times.Answer))
		// A client that gets no media has no further use for this connection.
		rw.Header().Set("Connection", "close")
		answerError(rw, status, reason)
		return
	}
	if len(info.Via) > 0 {
		rw.Header().Set("Via", w.Way(st).Header(edge.ViaHTTP))
	}
	switch {
	case r.Method == http.MethodHead:
		done()
		rw.Header().Set("Content-Type", flvType)
		rw.Header().Set("Cache-Control", "no-store")
		rw.Header().Set("Connection", "close")
		rw.WriteHeader(http.StatusOK)
	case upgrade:
		w.playWebSocket(rw, r, st, info, o, done)
	default:
		w.playFLV(rw, r, st, info, o, done)
	}
}

// playFLV hijacks the connection. The answer is chunked, so that a client can
// distinguish the stream's end from a lost connection; for HTTP/1.0 clients the
// body ends with the connection (RFC 9112, section 6.3).
func (w *Server) playFLV(rw http.ResponseWriter, r *http.Request, st *live.Stream, info session.Info, o session.PlayOptions, done func()) {
	conn, _, err := hijack(rw)
	if err != nil {
		done()
		w.Log.Error("cannot take over a connection", "address", info.Address, "error", err)
		answerError(rw, http.StatusInternalServerError, "cannot play on this connection")
		return
	}
	how := session.Viewing{
		Form:    live.FormFLV,
		Prelude: headerOf(http.StatusOK, flvType, endsWithConnection, rw.Header()),
		Unread:  true,
		Done:    done,
	}
	info.Peer = w.OfCluster(info)
	if r.ProtoAtLeast(1, 1) {
		how.Form, how.Trailer = live.FormChunked, lastChunk
		if after, hop := edge.ParseHop(info.Query); hop && info.Peer {
			how.Form, how.After = live.FormHop, after
		}
		how.Prelude = headerOf(http.StatusOK, flvType, chunkedBody, rw.Header())
	}
	_, err = w.TryWatch(conn, st, info, o, how)
	if err != nil {
		status, reason := session.Refusal(err)
		w.farewell(conn, status, errorText(reason), rw.Header())
	}
}
