package wire

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/http2"
)

// An h2 is one connection of HTTP/2, made anew when the target wants no more requests
// on it.
type h2 struct {
	target    *Target
	transport http2.Transport
	request   *http.Request
	limit     time.Duration // of a call and of a connection that is made

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
	h := &h2{target: t, request: r, limit: limit, transport: http2.Transport{AllowHTTP: true, DisableCompression: true}}
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
	if h.conn, err = h.transport.NewClientConn(conn); err != nil {
		conn.Close()
		return nil, err
	}
	return h.conn, nil
}

// mostTries is how often a request is tried on another connection because the
// target was closing the first one, and has not seen the request.
const mostTries = 3

func (h *h2) Call(ctx context.Context, _ *Request) (o Outcome, err error) {
	for range mostTries {
		conn, err := h.ready(ctx)
		if err != nil {
			return Outcome{}, err
		}
		if o, err = h.once(ctx, conn); err == nil {
			return o, nil
		}
		if s := conn.State(); !s.Closing || ctx.Err() != nil {
			return Outcome{}, err
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
		return Outcome{}, err
	}
	if reply.StatusCode < 100 || reply.StatusCode > 599 {
		return Outcome{}, fmt.Errorf("%w: status %d", ErrReply, reply.StatusCode)
	}
	return Outcome{Done: true, Class: reply.StatusCode/100 - 1, Payload: int(n)}, nil
}

func (h *h2) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conn == nil {
		return nil
	}
	return h.conn.Close()
}
