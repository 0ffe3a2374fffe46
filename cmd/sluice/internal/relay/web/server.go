package web

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/archive"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hls"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hooks"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/keepalive"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/push"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/streamdoctor"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/webrtc"
)

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
	Texts     texts           // requests that are in memory
	conns     connections
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

// Nodes are the servers of a cluster, as the API asks them. Its methods may be called
// by any goroutine.
type Nodes interface {
	// Name is this server's, Others are those of the others.
	Name() string
	Others() []string
	// Connected reports whether others can be reached: there is NATS.
	Connected() bool
	// Has returns the node that publishes a stream, and From the one that this node
	// pulls it from; empty for none.
	Has(stream string) string
	From(stream string) string
	// Ask sends a request to another node, for the client with the address, and returns
	// what Answer there does.
	Ask(ctx context.Context, node, method, target, client string) (status int, body []byte, err error)
	// Place returns the URL of a node to which a new viewer is sent, over TLS if secure;
	// empty when he stays here.
	Place(stream string, secure bool) string
	// PlayURL is that of another node, to which viewers are sent; empty when it is not known.
	PlayURL(node string) string
	// PlayURLs are those of the other nodes to which viewers are sent, and from which
	// they come.
	PlayURLs() []string
	// BansChanged gives the bans of this node to the others.
	BansChanged()
}

// pusher is what the API does with package push.
type pusher interface {
	List() []push.Status
	Added() []push.Added
	Add(t *push.Target) (push.Added, error)
	Remove(id string) bool
}

// Recorded is what the server has of recordings.
type Recorded struct {
	Files archive.Union
	// Control begins or ends the recording of a stream, also of what is published
	// under that name later.
	Control func(stream string, on bool) error

	clips clips
}

// A resource answers what is below its name in /api/. rest is what follows the name's
// slash: an id or the name of a stream. It checks the method and who asks.
type resource func(rw http.ResponseWriter, r *http.Request, rest string)

// builtPage is the page for one version of the settings.
type builtPage struct {
	with    *config.Config
	handler http.Handler
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

// connections are those on their way to a request, and those that are answered.
type connections struct {
	headers   firstHeaders
	answering answering
	resting   resting
}

// firstHeaders closes connections whose first request header is not complete in
// time. The time includes the TLS handshake; net/http limits the two separately.
type firstHeaders struct {
	within time.Duration

	mu   sync.Mutex
	came map[net.Conn]func() // what says of a connection that its header is there
}
