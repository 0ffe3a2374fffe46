package web

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/webrtc"
)

// maxFragment is the longest description of candidates in bytes.
const maxFragment = 16 << 10

// whipPath cuts the path of an endpoint, /APP/NAME/whip or /APP/NAME/whep, or of a
// session, with an id behind it.
func whipPath(path string) (stream, protocol, id string, ok bool) {
	for _, protocol := range []string{session.WHIP, session.WHEP} {
		if stream, ok := strings.CutSuffix(path, "/"+protocol); ok {
			return stream, protocol, "", true
		}
		at := strings.LastIndexByte(path, '/')
		if at < 0 || at == len(path)-1 {
			continue
		}
		if stream, ok := strings.CutSuffix(path[:at], "/"+protocol); ok {
			return stream, protocol, path[at+1:], true
		}
	}
	return "", "", "", false
}

// rtc handles WHIP (RFC 9725) and WHEP.
func (w *Server) rtc(rw http.ResponseWriter, r *http.Request, stream, protocol, id string) {
	info := session.Info{Protocol: protocol, Address: r.RemoteAddr, Agent: r.UserAgent(), Query: r.URL.Query()}
	if token, ok := bearer(r); ok && !info.Query.Has("token") {
		info.Query.Set("token", token)
	}
	app, name, _ := strings.Cut(strings.TrimPrefix(stream, "/"), "/")
	var err error
	if info.Stream, err = session.StreamName(app, name); err != nil {
		w.answerRTC(rw, err)
		return
	}
	methods := "GET, HEAD, POST, OPTIONS"
	if id != "" {
		methods = "GET, HEAD, PATCH, DELETE, OPTIONS"
	}
	if protocol == session.WHEP {
		w.cors().allow(rw.Header(), r)
		rw.Header().Set("Access-Control-Expose-Headers", "Location, ETag, Link, Accept-Patch, Sluice-Left-Out")
	}
	foreign := protocol == session.WHIP && !mayPublish(r) || protocol == session.WHEP && !w.cors().admits(r)
	switch {
	case r.Method == http.MethodOptions:
		rtcOptions(rw, r, methods, id)
	case foreign:
		w.answerRTC(rw, session.ErrOrigin)
	case r.Method == http.MethodGet && id == "" && protocol == session.WHEP && info.Query.Has(whereKey):
		w.where(rw, r, info.Stream, nil)
	case r.Method == http.MethodGet, r.Method == http.MethodHead:
		w.lookRTC(rw, info, id)
	case r.Method == http.MethodPost && id == "":
		if !w.placeOffer(rw, r, info) {
			w.offer(rw, r, info)
		}
	case r.Method == http.MethodPatch && id != "":
		w.patchRTC(rw, r, info, id)
	case r.Method == http.MethodDelete && id != "":
		if err := w.WebRTC.End(protocol, info.Stream, id, info.Query.Get("token")); err != nil {
			w.answerRTC(rw, err)
		}
	default:
		rw.Header().Set("Allow", methods)
		answerError(rw, http.StatusMethodNotAllowed, "an offer is sent by POST to /APP/NAME/"+protocol+", and the address in the answer's Location takes PATCH and DELETE")
	}
}

// rtcOptions answers OPTIONS. Fields that allow other origins are there already, if
// they are.
func rtcOptions(rw http.ResponseWriter, r *http.Request, methods, id string) {
	h := rw.Header()
	h.Set("Allow", methods)
	if id == "" {
		h.Set("Accept-Post", "application/sdp")
	}
	if h.Get("Access-Control-Allow-Origin") != "" && r.Header.Get("Access-Control-Request-Method") != "" {
		h.Set("Access-Control-Allow-Methods", methods)
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, If-Match")
		h.Set("Access-Control-Max-Age", "600")
	}
	rw.WriteHeader(http.StatusNoContent)
}

// offer answers an offer with a session.
func (w *Server) offer(rw http.ResponseWriter, r *http.Request, info session.Info) {
	text, ok := w.rtcBody(rw, r, "application/sdp", webrtc.MaxOffer)
	if !ok {
		return
	}
	role, take := session.RolePublisher, w.WebRTC.Publish
	if info.Protocol == session.WHEP {
		role, take = session.RoleViewer, w.WebRTC.Play
	}
	// Waiting for a stream may take longer than the normal limits.
	waits := http.NewResponseController(rw)
	waits.SetReadDeadline(time.Time{})
	waits.SetWriteDeadline(time.Time{})
	answer, err := take(r.Context(), info, text)
	waits.SetWriteDeadline(time.Now().Add(w.Times.Answer))
	if err != nil {
		w.Refused(role, info, err)
		w.answerRTC(rw, err)
		return
	}
	h := rw.Header()
	h.Set("Content-Type", "application/sdp")
	h.Set("Cache-Control", "no-store")
	h.Set("Location", r.URL.EscapedPath()+"/"+answer.ID)
	h.Set("ETag", answer.ETag)
	h.Set("Accept-Patch", fragmentType)
	c := w.Config()
	for _, link := range webrtc.Links(c.ICEServers, c.TURNSecret, time.Now()) {
		h.Add("Link", link)
	}
	if len(answer.LeftOut) > 0 {
		h.Set("Sluice-Left-Out", strings.Join(answer.LeftOut, ", "))
	}
	rw.WriteHeader(http.StatusCreated)
	io.WriteString(rw, answer.SDP)
}

const fragmentType = "application/trickle-ice-sdpfrag"

// lookRTC answers GET: endpoints and sessions have nothing to show, and say that they are
// there (RFC 9725, section 4.1).
func (w *Server) lookRTC(rw http.ResponseWriter, info session.Info, id string) {
	if id != "" {
		if _, err := w.WebRTC.ETag(info.Protocol, info.Stream, id, info.Query.Get("token")); err != nil {
			w.answerRTC(rw, err)
			return
		}
	}
	rw.WriteHeader(http.StatusNoContent)
}

// patchRTC takes candidates of a client (RFC 9725, section 4.3), of which the server
// needs none: it answers the checks that come. It does not restart ICE.
func (w *Server) patchRTC(rw http.ResponseWriter, r *http.Request, info session.Info, id string) {
	etag, err := w.WebRTC.ETag(info.Protocol, info.Stream, id, info.Query.Get("token"))
	if err != nil {
		w.answerRTC(rw, err)
		return
	}
	fragment, ok := w.rtcBody(rw, r, fragmentType, maxFragment)
	if !ok {
		return
	}
	tags := strings.Split(strings.Join(r.Header.Values("If-Match"), ","), ",")
	for i := range tags {
		tags[i] = strings.TrimSpace(tags[i])
	}
	switch {
	case !isFragment(fragment):
		answerError(rw, http.StatusBadRequest, "the body is no fragment of SDP")
	case slices.Contains(tags, etag):
		rw.WriteHeader(http.StatusNoContent)
	case len(tags) == 1 && tags[0] == "":
		answerError(rw, http.StatusPreconditionRequired, "If-Match with the session's ETag is needed")
	case slices.Contains(tags, "*"), slices.Contains(tags, `"*"`): // RFC 9725, section 4.3.3, has both
		answerError(rw, http.StatusUnprocessableEntity, "ICE is not restarted here: make a new session")
	default:
		answerError(rw, http.StatusPreconditionFailed, "If-Match is not the session's ETag")
	}
}

// isFragment reports whether a text is of lines of SDP (RFC 8840, section 9).
func isFragment(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && (len(line) < 2 || line[1] != '=') {
			return false
		}
	}
	return true
}

// rtcBody returns the body of a request, and answers those whose body has another type
// or is too long.
func (w *Server) rtcBody(rw http.ResponseWriter, r *http.Request, want string, limit int64) ([]byte, bool) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != want || r.Header.Get("Content-Encoding") != "" {
		rw.Header().Set("Connection", "close") // the rest of the body is not read
		answerError(rw, http.StatusUnsupportedMediaType, "the body has to be "+want)
		return nil, false
	}
	place, leave, ok := w.enterText(rw, r)
	if !ok {
		return nil, false
	}
	defer leave()
	text, err := io.ReadAll(http.MaxBytesReader(rw, &textBody{ReadCloser: r.Body, place: place}, limit))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		answerError(rw, http.StatusRequestEntityTooLarge, "the body is too long")
	case err != nil:
		rw.Header().Set("Connection", "close")
		answerError(rw, http.StatusBadRequest, "the body ends too early")
	}
	return text, err == nil
}

// answerRTC answers a request that was refused.
func (w *Server) answerRTC(rw http.ResponseWriter, err error) {
	status, reason := session.Refusal(err)
	switch {
	case errors.Is(err, webrtc.ErrNoCodec):
		status, reason = http.StatusNotAcceptable, session.Quoted(err.Error())
	case errors.Is(err, webrtc.ErrOffer):
		status, reason = http.StatusBadRequest, session.Quoted(err.Error())
	case errors.Is(err, webrtc.ErrNoSession):
		status, reason = http.StatusNotFound, err.Error()
	}
	switch status {
	case http.StatusUnauthorized:
		rw.Header().Set("WWW-Authenticate", `Bearer realm="sluice"`)
	case http.StatusServiceUnavailable:
		rw.Header().Set("Retry-After", "2")
	case http.StatusNotFound:
		// The draft of WHEP would have 409 with this field. Players take 404 for a stream that is
		// not there, as other servers say it.
		if errors.Is(err, session.ErrNotFound) {
			rw.Header().Set("Retry-After", "2")
		}
	}
	answerError(rw, status, reason)
}
