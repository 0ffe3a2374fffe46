package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
)

// An h2 is one connection of HTTP/2, made again when the target wants no more requests
// on it.
type h2 struct {
	target    *Target
	transport http2.Transport
	request   *http.Request
	limit     time.Duration          // of a call and of a connection that is made
	leaves    atomic.Pointer[string] // why the target ended a connection, when it said that

	redials atomic.Uint64

	mu   sync.Mutex
	conn *http2.ClientConn
}

func newH2(ctx context.Context, t *Target, limit time.Duration) (*h2, error) {
	options := t.http
	u := *t.url
	u.User = nil
	r, err := http.NewRequest(options.method(), u.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header, r.Host = options.header(t.url)
	// Bytes that have been compressed stay so: they are counted, not read.
	h := &h2{target: t, request: r, limit: limit}
	h.transport.AllowHTTP, h.transport.DisableCompression = true, true
	h.transport.CountError = func(kind string) {
		if code, ok := strings.CutPrefix(kind, "recv_goaway_"); ok {
			code = "GOAWAY with " + code
			h.leaves.Store(&code)
		}
	}
	h.transport.StrictMaxConcurrentStreams = true // more than the target takes at once wait
	_, err = h.ready(ctx)
	return h, err
}

func (h *h2) ready(ctx context.Context) (*http2.ClientConn, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conn != nil {
		if s := h.conn.State(); !s.Closed && !s.Closing {
			return h.conn, nil
		}
	}
	ctx, stop := context.WithTimeout(ctx, h.limit)
	defer stop()
	conn, err := h.target.Dial(ctx)
	if err != nil {
		return nil, err
	}
	heard := &heard{Conn: conn, ended: make(chan struct{})}
	made, err := h.transport.NewClientConn(heard)
	if err != nil {
		conn.Close()
		return nil, err
	}
	// Its answer ends the handshake. Requests on a connection that was refused do not say why.
	if err := made.Ping(ctx); err != nil {
		if op := (*net.OpError)(nil); errors.Is(err, net.ErrClosed) || errors.As(err, &op) && op.Op == "write" {
			// The target may have said why it ends the connection, which the reader then
			// closes under the write.
			select {
			case <-heard.ended:
				err = heard.why
			case <-ctx.Done():
			}
		}
		conn.Close()
		if why := h.leaves.Load(); why != nil {
			err = errors.New(*why)
		}
		if secure, ok := conn.(*tls.Conn); ok && secure.ConnectionState().NegotiatedProtocol != http2.NextProtoTLS {
			err = fmt.Errorf("the target did not choose h2 (ALPN): %w", err)
		}
		return nil, fmt.Errorf("%v: no handshake of HTTP/2: %w", h.target, err)
	}
	if h.conn != nil {
		h.redials.Add(1)
	}
	h.conn = made
	return made, nil
}

// heard is a connection that remembers why reading from it ended.
type heard struct {
	net.Conn
	once  sync.Once
	ended chan struct{}
	why   error // once ended is closed
}

func (c *heard) Read(p []byte) (n int, err error) {
	if n, err = c.Conn.Read(p); err != nil {
		c.once.Do(func() { c.why = err; close(c.ended) })
	}
	return n, err
}

// Redials is how often the connection was made again.
func (h *h2) Redials() uint64 { return h.redials.Load() }

// mostTries is how often a request is tried that the target has not looked at: because it was closing
// the connection, or by RFC 9113, 8.7, because it takes fewer at once than the client knew.
const mostTries = 100

func (h *h2) Call(ctx context.Context, _ *Request) (o Outcome, err error) {
	for range mostTries {
		var conn *http2.ClientConn
		if conn, err = h.ready(ctx); err != nil {
			return Outcome{}, err
		}
		if o, err = h.once(ctx, conn); err == nil {
			return o, nil
		}
		again := conn.State().Closing
		if stream := (http2.StreamError{}); errors.As(err, &stream) {
			if again = stream.Code == http2.ErrCodeRefusedStream; !again { // it was looked at
				return Outcome{Done: true, Class: streamReset, Says: err.Error()}, nil
			}
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("load: the target ended the connection: %w", err)
		}
		if ctx.Err() != nil || !again {
			return o, err
		}
	}
	return o, err
}

func (h *h2) once(ctx context.Context, conn *http2.ClientConn) (Outcome, error) {
	ctx, stop := context.WithTimeout(ctx, h.limit)
	defer stop()
	r := h.request.WithContext(ctx)
	if body := h.target.http.Body; len(body) > 0 {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	reply, err := conn.RoundTrip(r)
	if err != nil {
		return Outcome{}, err
	}
	n, err := io.Copy(io.Discard, reply.Body)
	reply.Body.Close()
	if err != nil {
		return Outcome{Payload: int(n)}, err
	}
	if reply.StatusCode < 100 || reply.StatusCode > 599 {
		return Outcome{}, fmt.Errorf("%w: status %d", ErrReply, reply.StatusCode)
	}
	o := Outcome{Done: true, Class: reply.StatusCode/100 - 1, Payload: int(n)}
	if statusClasses[o.Class].Failed {
		o.Says = reply.Status
	}
	return o, nil
}

func (h *h2) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.conn.Close()
}
