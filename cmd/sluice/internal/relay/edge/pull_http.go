package edge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
)

// idleConn sets a timeout for each read.
type idleConn struct {
	net.Conn
	idle time.Duration
}

func (c idleConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.idle)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// dial connects to the address without TLS.
func (p *Puller) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: p.options.Start}
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return idleConn{Conn: conn, idle: p.options.Idle}, nil
}

// newClient returns the client for origins that speak HTTP. HTTP/1.1 is enough,
// since a connection carries one stream.
func (p *Puller) newClient() *http.Client {
	plain := new(http.Protocols)
	plain.SetHTTP1(true)
	return &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         p.dial,
		TLSClientConfig:     p.options.TLS.Clone(),
		TLSHandshakeTimeout: p.options.Start,
		DisableCompression:  true,
		DisableKeepAlives:   true,
		Protocols:           plain,
	}}
}

// pullHTTP pulls over HTTP until the origin ends it, or deliver does.
func (q *pulling) pullHTTP(ctx context.Context, deliver func(live.Frame) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, q.url(), nil)
	if err != nil {
		return fmt.Errorf("edge: %w", err)
	}
	req.Header.Set("Via", q.path.header())
	req.Header.Set("User-Agent", player)
	resp, err := q.puller.client.Do(req)
	if err != nil {
		return fmt.Errorf("edge: %w", withoutURL(err))
	}
	defer resp.Body.Close()
	q.answered = time.Now()
	if err := answer(resp.StatusCode); err != nil {
		return err
	}
	r := sluice.NewBufReader(resp.Body)
	defer r.Recycle()
	d := flv.NewDecoder(r)
	d.MaxTag = q.puller.options.MaxFrame
	if _, err := d.ReadHeader(); err != nil {
		return fmt.Errorf("edge: %w", err)
	}
	marked := q.puller.options.Locate != nil
	var mark live.Mark
	for {
		t, err := d.Next()
		if err != nil {
			return fmt.Errorf("edge: %w", err)
		}
		if marked && t.Type == flv.TagScript {
			m, ok, err := live.ParseMark(t.Payload.Bytes())
			if ok || err != nil {
				t.Payload.Release()
				if err != nil {
					return fmt.Errorf("edge: %w", err)
				}
				mark = m
				continue
			}
		}
		err = deliver(live.Frame{Type: t.Type, Time: t.Time, Payload: t.Payload, Mark: mark})
		if err != nil {
			return err
		}
		mark = live.Mark{}
	}
}

// url is the address of the stream at the origin. Another server of the cluster is
// asked for marks, and for what follows the frame that was the latest.
func (q *pulling) url() string {
	if q.puller.options.Locate == nil {
		return q.from.streamURL(q.stream)
	}
	var after live.Mark
	if sink, ok := q.sink.(Resuming); ok {
		after = sink.After()
	}
	return q.from.With(HopQuery(after)).streamURL(q.stream)
}

// answer returns the error for a response's status.
func answer(status int) error {
	switch status {
	case http.StatusOK:
		return nil
	case http.StatusNotFound, http.StatusGone:
		return ErrNotFound
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusLoopDetected:
		return fmt.Errorf("%w: %s", ErrDenied, http.StatusText(status))
	}
	return fmt.Errorf("edge: the origin answers %d %s", status, http.StatusText(status))
}

// withoutURL removes the URL from a client's error, because errors are logged and
// the query may contain a token.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
