package web

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hls"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hooks"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/keepalive"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/page"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/streamdoctor"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/webrtc"
	"github.com/sluice-go/sluice/live"
)

// maxHeader is the longest request header in bytes. net/http adds 4 KiB.
const maxHeader = 28 << 10

// Server is the HTTP side of a server: HTTP/1.1 only, with TLS too, because media
// connections are hijacked.
type Server struct {
	*session.Host
	Services
	proxies   *listen.Proxies
	version   string
	addresses func() map[string]string // of the listeners, by setting
	began     time.Time
	history   *history
	http      *http.Server
	kept      *keepalive.Server // connections of HLS players
	returning sync.Once         // begins to serve those that kept gives back
	HLS       *hls.Server
	Recent    hooks.Recent // the latest events
	doctor    *streamdoctor.Doctor
	Arrivals  listen.Arrivals // connections without a request
	headers   firstHeaders
	paths     map[string]resource  // of the API
	Metrics   *prometheus.Registry // of /metrics; other packages add theirs
	metrics   http.Handler
	page      atomic.Pointer[builtPage] // nil: to be made
}

// Services are what a Server shows and offers besides, where the settings ask for it. They
// are set before it serves.
type Services struct {
	Pushes   pusher
	Reload   func() (changed, waiting []string, err error) // nil: there is nothing to read again
	Recorded *Recorded                                     // what is recorded
	WebRTC   *webrtc.Server                                // nil: none
	Cluster  func() any                                    // what /api/cluster answers; nil: there is none
	Nodes    Nodes                                         // nil: this server is alone
}

func New(h *session.Host, hls *hls.Server, proxies *listen.Proxies, version string, addresses func() map[string]string) *Server {
	w := &Server{
		Host: h, HLS: hls, proxies: proxies, version: version, addresses: addresses, began: time.Now(),
		Metrics: prometheus.NewRegistry(), history: newHistory(h.Times.Sample), headers: firstHeaders{within: h.Times.Header},
	}
	w.doctor = streamdoctor.New(h)
	w.metrics = newMetrics(w)
	w.paths = w.resources()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	w.http = &http.Server{
		Handler:           w,
		Protocols:         protocols,
		ReadHeaderTimeout: h.Times.Header,
		ReadTimeout:       h.Times.Request,
		WriteTimeout:      h.Times.Answer,
		IdleTimeout:       h.Times.Idle,
		MaxHeaderBytes:    maxHeader,
		ConnState:         w.state,
		ConnContext:       withConn,
		ErrorLog:          log.New(debugLog{h.Log}, "", 0),
	}
	w.kept = keepalive.New(keepalive.Options{
		Handler: w, Serves: keeps, State: w.state, Log: w.http.ErrorLog,
		Idle: h.Times.Idle, Header: h.Times.Header, Answer: h.Times.Answer, Watch: watchAfter,
	})
	return w
}

// builtPage is the page for one version of the settings.
type builtPage struct {
	with    *config.Config
	handler http.Handler
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
		RTMPAddr: at["rtmp"], RTMPSAddr: at["rtmps"], RTSPAddr: at["rtsp"], RTSPSAddr: at["rtsps"], Merge: c.Merge,
		Nodes: nodes, Others: others,
		HLS: c.HLS != config.HLSOff, WebRTC: config.On(c.WebRTC),
		ProtectPublish: slices.Contains(c.Protect, "publish"), ProtectPlay: slices.Contains(c.Protect, "play"),
	})}
	w.page.Store(b)
	return b.handler
}

func (w *Server) Serve(l net.Listener) error {
	return ended(w.http.Serve(listen.Queue(l, &w.Arrivals, w.proxies)))
}

func (w *Server) ServeTLS(l net.Listener, c *tls.Config) error {
	return ended(w.http.Serve(tls.NewListener(wires{listen.Queue(l, &w.Arrivals, w.proxies)}, c)))
}

// wires are connections over which TLS does not wait for its viewers.
type wires struct{ net.Listener }

func (l wires) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return live.NewWire(conn), nil
}

func ended(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (w *Server) Shutdown(ctx context.Context) error {
	w.kept.Drain()
	err := w.http.Shutdown(ctx)
	if errors.Is(err, net.ErrClosed) { // the listeners belong to the relay, which has closed them already
		err = nil
	}
	return errors.Join(err, w.kept.Wait(ctx))
}

func (w *Server) Close() {
	w.http.Close()
	w.kept.Close()
}

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
		w.keep(seen, r)
	case strings.HasPrefix(path, "/api/"):
		w.api(rw, r)
	case path == "/metrics":
		w.metrics.ServeHTTP(rw, r)
	case path == "/healthz":
		w.healthz(rw, r)
	default:
		w.pages().ServeHTTP(rw, r)
	}
}

// statusWriter remembers the status of an answer, for the log, and how much of its body was
// written.
type statusWriter struct {
	http.ResponseWriter
	status  int
	written int64
	failed  bool
}

func (s *statusWriter) Write(p []byte) (int, error) {
	n, err := s.ResponseWriter.Write(p)
	return n, s.wrote(int64(n), err)
}

func (s *statusWriter) wrote(n int64, err error) error {
	s.written += n
	s.failed = s.failed || err != nil
	return err
}

// Unwrap lets net/http's ResponseController reach the connection.
func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// ReadFrom lets the kernel send files.
func (s *statusWriter) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.Copy(s.ResponseWriter, r)
	return n, s.wrote(n, err)
}

// WriteString spares net/http a copy.
func (s *statusWriter) WriteString(text string) (int, error) {
	n, err := io.WriteString(s.ResponseWriter, text)
	return n, s.wrote(int64(n), err)
}

func (s *statusWriter) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
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
		w.cors().preflight(rw, r)
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
		w.cors().preflight(rw, r)
	default:
		rw.Header().Set("Allow", "GET, HEAD, OPTIONS")
		answerError(rw, http.StatusMethodNotAllowed, "HLS is played by GET")
	}
}

// hijack takes a connection over from net/http.
func hijack(rw http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		return nil, nil, err
	}
	return plain(conn), buffered, nil
}

// plain returns the connection without the wrapper of the PROXY protocol. Its
// header has been read already, since there was a request.
func plain(conn net.Conn) net.Conn {
	conn, _, _ = listen.Unwrap(conn)
	return conn
}

// session returns the session's Info for a media request.
func (w *Server) session(r *http.Request, plain, secure string) (session.Info, error) {
	info := session.Info{
		Protocol: plain,
		Address:  r.RemoteAddr,
		Agent:    r.UserAgent(),
		Query:    r.URL.Query(),
		Via:      edge.PathOfHeader(r.Header.Values("Via")),
	}
	if r.TLS != nil {
		info.Protocol = secure
	}
	app, name, _ := strings.Cut(strings.TrimPrefix(strings.TrimSuffix(r.URL.Path, ".flv"), "/"), "/")
	var err error
	info.Stream, err = session.StreamName(app, name)
	return info, err
}

// healthz reports whether the server accepts sessions. Without NATS a node still does.
func (w *Server) healthz(rw http.ResponseWriter, r *http.Request) {
	if !reads(rw, r) {
		return
	}
	rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
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

// reads reports whether a request is GET or HEAD, and answers it if not.
func reads(rw http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	onlyHere(rw, "GET, HEAD")
	return false
}

// onlyHere answers a request with another method than the allowed ones.
func onlyHere(rw http.ResponseWriter, allowed string) {
	rw.Header().Set("Allow", allowed)
	answerError(rw, http.StatusMethodNotAllowed, "only "+allowed+" here")
}

// errorText is the body of an error answer.
func errorText(reason string) []byte {
	text, err := json.Marshal(map[string]string{"error": reason})
	if err != nil {
		panic("relay: " + err.Error()) // a string
	}
	return append(text, '\n')
}

func answerError(rw http.ResponseWriter, status int, reason string) {
	h := rw.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	rw.WriteHeader(status)
	rw.Write(errorText(reason))
}

// debugLog receives net/http's log of client errors.
type debugLog struct{ log *slog.Logger }

func (d debugLog) Write(p []byte) (int, error) {
	d.log.Debug("http: " + strings.TrimSpace(string(p)))
	return len(p), nil
}
