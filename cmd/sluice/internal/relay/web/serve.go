package web

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hls"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/keepalive"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/streamdoctor"
	"github.com/sluice-go/sluice/live"
)

// maxHeader is the longest request header in bytes. net/http adds 4 KiB.
const maxHeader = 28 << 10

// New makes a server, which is given what its files may take while they are sent, in bytes; 0 is no
// limit.
func New(h *session.Host, hls *hls.Server, proxies *listen.Proxies, version string, addresses func() map[string]string, sending int64) *Server {
	w := &Server{
		Host: h, HLS: hls, proxies: proxies, version: version, addresses: addresses, began: time.Now(),
		Metrics: prometheus.NewRegistry(), history: newHistory(h.Times.Sample), conns: connections{headers: firstHeaders{within: h.Times.Header}},
	}
	w.Texts.Limit(mostTexts, mostTextsPerAddress)
	w.Texts.SetQuiet(silentText)
	w.conns.answering.bound(sending)
	hls.Sending = w.Sending
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

func (w *Server) Serve(l net.Listener) error {
	return ended(w.http.Serve(w.queue(l, "http")))
}

func (w *Server) ServeTLS(l net.Listener, c *tls.Config) error {
	return ended(w.http.Serve(tls.NewListener(wires{w.queue(l, "https")}, c)))
}

func (w *Server) queue(l net.Listener, setting string) net.Listener {
	return listen.Queue(w.Reporting(l, setting), &w.Arrivals, w.proxies, w.Times.Header)
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

// Sample records the history until ctx is done.
func (w *Server) Sample(ctx context.Context) {
	w.history.run(ctx, func(now time.Time) { w.history.sample(now, w.Hub.Streams()) })
}

// debugLog receives net/http's log of client errors.
type debugLog struct{ log *slog.Logger }

func (d debugLog) Write(p []byte) (int, error) {
	// One text for all, so that lines can be counted by it.
	d.log.Debug("http", "message", strings.TrimPrefix(strings.TrimSpace(string(p)), "http: "))
	return len(p), nil
}
