package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hls"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/page"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// maxRanges is how many parts of a file one request may have: each of them, of a byte, costs a
// header, and there is room for thousands in a request (RFC 9110, section 17.15).
const maxRanges = 16

// noBytes is a range of the last 0 bytes, which no file has (RFC 9110, section 14.1.2): net/http
// sends such a part, from behind the end to before it.
var noBytes = regexp.MustCompile(`([=,][ \t]*)-0+\b`)

// ServeHTTP routes a request to its handler.
func (w *Server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if len(r.TransferEncoding) > 0 {
		// It may have had a length too, by which a proxy in front may see another
		// end of it: what follows is not served (RFC 9112, section 6.3).
		rw.Header().Set("Connection", "close")
	}
	client, err := w.proxies.Client(r.RemoteAddr, r.Header)
	if err != nil {
		w.Log.Warn("a request with two clients", "address", r.RemoteAddr, "error", err)
		answerError(rw, http.StatusBadRequest, err.Error())
		return
	}
	r.RemoteAddr = client // from here on: in logs, limits and hooks
	if ranges := r.Header.Get("Range"); noBytes.MatchString(ranges) {
		r.Header.Set("Range", noBytes.ReplaceAllString(ranges, "${1}9223372036854775807-")) // behind each end
	}
	if strings.Count(r.Header.Get("Range"), ",") >= maxRanges {
		answerError(rw, http.StatusRequestedRangeNotSatisfiable, fmt.Sprintf("at most %d ranges are sent at a time", maxRanges))
		return
	}
	own := strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/assets/")
	isHLS := !own && hls.Serves(path)
	if !own && !isHLS && strings.HasSuffix(path, ".flv") {
		w.media(rw, r)
		return
	}
	// Without a line in the log: the path of a session is its secret.
	if w.WebRTC != nil && !own {
		if stream, protocol, id, ok := whipPath(path); ok {
			w.rtc(rw, r, stream, protocol, id)
			return
		}
	}
	if path == "/api/clips" || path == "/api/rewind" || path == "/api/recordings" || strings.HasPrefix(path, "/api/recordings/") {
		w.recordings(rw, r)
		return
	}
	seen := &statusWriter{ResponseWriter: rw, status: http.StatusOK}
	rw = seen
	defer func() {
		shown, _, _ := strings.Cut(path, "?") // what was escaped twice may be secret
		w.Log.Debug("request", "method", r.Method, "path", shown, "status", seen.status, "address", r.RemoteAddr)
	}()
	switch {
	case r.Method == http.MethodConnect:
		answerError(rw, http.StatusMethodNotAllowed, "this is no proxy")
	case isHLS:
		w.playHLS(rw, r)
		if seen.status == http.StatusOK || seen.status == http.StatusPartialContent {
			w.conns.resting.plays(r)
		}
		w.keep(seen, r)
	case strings.HasPrefix(path, "/api/"):
		w.api(rw, r)
	case path == "/metrics":
		rw.Header().Set("X-Content-Type-Options", "nosniff")
		w.metrics.ServeHTTP(rw, r)
	case path == "/healthz":
		w.healthz(rw, r)
	default:
		w.pages().ServeHTTP(rw, r)
	}
}

// media handles /APP/NAME.flv.
func (w *Server) media(rw http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		w.cors().allow(rw.Header(), r)
		if r.URL.Query().Has(whereKey) {
			info, err := w.session(r, session.FLV, session.FLVS)
			w.where(rw, r, info.Stream, err)
		} else {
			w.play(rw, r)
		}
	case http.MethodPost, http.MethodPut:
		w.ingest(rw, r)
	case http.MethodOptions:
		w.cors().preflight(rw, r, http.MethodPost, http.MethodPut, http.MethodOptions)
	default:
		rw.Header().Set("Allow", "GET, HEAD, POST, PUT, OPTIONS")
		answerError(rw, http.StatusMethodNotAllowed, "media is played by GET and published by POST or PUT")
	}
}

// playHLS handles what package hls serves.
func (w *Server) playHLS(rw http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		w.cors().allow(rw.Header(), r)
		if !w.placeHLS(rw, r) {
			w.HLS.ServeHTTP(rw, r)
		}
	case http.MethodOptions:
		w.cors().preflight(rw, r, http.MethodOptions)
	default:
		rw.Header().Set("Allow", "GET, HEAD, OPTIONS")
		answerError(rw, http.StatusMethodNotAllowed, "HLS is played by GET")
	}
}

// healthz reports whether the server accepts sessions. Without NATS a node still does.
func (w *Server) healthz(rw http.ResponseWriter, r *http.Request) {
	if !reads(rw, r) {
		return
	}
	rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
	rw.Header().Set("X-Content-Type-Options", "nosniff")
	rw.Header().Set("Cache-Control", "no-store")
	if w.Closing() {
		rw.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(rw, "shutting down\n")
		return
	}
	if w.Leaving() {
		rw.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(rw, "draining\n")
		return
	}
	io.WriteString(rw, "ok\n")
	if w.Nodes != nil && !w.Nodes.Connected() {
		io.WriteString(rw, "NATS is out of reach: see /api/cluster\n")
	}
}

// pages returns the page's handler. It is made at the first request, and again
// after a reload, because it contains settings and the addresses of the
// listeners.
func (w *Server) pages() http.Handler {
	c := w.Config()
	if b := w.page.Load(); b != nil && b.with == c {
		return b.handler
	}
	at := w.addresses()
	var nodes, others func() []string
	if w.Nodes != nil {
		nodes, others = w.nodeOrigins, w.otherNodes
	}
	b := &builtPage{c, page.Handler(page.Options{
		RTMPAddr: at["rtmp"], RTMPSAddr: at["rtmps"], RTSPAddr: at["rtsp"], RTSPSAddr: at["rtsps"], SRTAddr: at["srt"], SRTEncrypted: c.SRTPassphrase != "", Merge: c.Merge,
		Nodes: nodes, Others: others,
		HLS: c.HLS != config.HLSOff, WebRTC: config.On(c.WebRTC),
		ProtectPublish: slices.Contains(c.Protect, "publish"), ProtectPlay: slices.Contains(c.Protect, "play"),
	})}
	w.page.Store(b)
	return b.handler
}

// Answer answers a request of another node for something of the API: streams, clients,
// pushes, events, and the list of recordings. Files are sent by HTTP alone.
func (w *Server) Answer(ctx context.Context, method, target, client string) (status int, body []byte) {
	r, err := http.NewRequestWithContext(context.WithValue(ctx, trusted{}, true), method, target, nil)
	if err != nil {
		return http.StatusBadRequest, errorText("bad request")
	}
	first, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/api/"), "/")
	read, remove := method == http.MethodGet || method == http.MethodHead, method == http.MethodDelete && rest != ""
	answer := w.paths[first]
	switch {
	case first == "streams" || first == "clients":
	case first == "pushes" && (read || remove), first == "events" && read && rest == "":
	case first == "recordings" && (read && rest == "" || remove):
		answer = func(rw http.ResponseWriter, r *http.Request, _ string) { w.recordings(rw, r) }
	default:
		return http.StatusNotFound, errorText("nodes do not ask one another for this")
	}
	r.RemoteAddr = client
	rw := newAnswerBuffer()
	answer(rw, r, rest)
	return rw.status, rw.body.Bytes()
}
