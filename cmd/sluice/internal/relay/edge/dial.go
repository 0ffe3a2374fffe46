package edge

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/brief"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/dialtls"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvbody"
)

// dial connects to the address without TLS.
func (p *Puller) dial(ctx context.Context, network, address string) (net.Conn, error) {
	// A line that is silent is probed, so that one that is lost ends about when Idle would end it.
	probe := max(p.options.Idle/3, time.Second)
	d := net.Dialer{Timeout: p.options.Start, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: probe, Interval: probe, Count: 3}}
	return d.DialContext(ctx, network, address)
}

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

func (p *Puller) dialIdle(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := p.dial(ctx, network, address)
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
		DialContext:         p.dialIdle,
		TLSClientConfig:     p.options.TLS.Clone(),
		TLSHandshakeTimeout: p.options.Start,
		DisableCompression:  true,
		DisableKeepAlives:   true,
		Protocols:           plain,

		MaxResponseHeaderBytes: maxHeader,
	}}
}

// A response is the answer of an origin.
type response struct {
	status int
	body   *sluice.BufReader // transferred
	length int64             // as package flvbody has it
	via    Way               // that the stream has come
	again  bool              // a read that has timed out can be repeated
	close  func()            // ends the connection
}

// get sends a request. An origin without TLS, and without a proxy on the way, is read from
// its connection, and so from its descriptor: net/http's client would take as long for a
// frame as sending it to a dozen viewers does. All else is the client's: redirections too,
// and names that DNS knows in another spelling.
func (p *Puller) get(req *http.Request) (*response, error) {
	client := p.client
	proxy, err := http.ProxyFromEnvironment(req)
	if req.URL.Scheme == "http" && proxy == nil && err == nil && ascii(req.URL.Host) {
		r, redirection, err := p.getPlain(req)
		if r != nil || err != nil {
			return r, err
		}
		client = &http.Client{Transport: &answered{RoundTripper: p.client.Transport, first: redirection}}
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, dialtls.Explain(err)
	}
	r := &response{status: resp.StatusCode, body: sluice.NewBufReader(resp.Body), length: flvbody.ToTheEnd, via: WayOfHeader(resp.Header.Values("Via")), close: func() { resp.Body.Close() }}
	if resp.ContentLength >= 0 {
		r.length = resp.ContentLength
	}
	return r, nil
}

// answered has the answer to the first request already.
type answered struct {
	http.RoundTripper
	first *http.Response // without a body; nil: it was given
}

func (a *answered) RoundTrip(req *http.Request) (*http.Response, error) {
	if resp := a.first; resp != nil {
		a.first = nil
		return resp, nil
	}
	return a.RoundTripper.RoundTrip(req)
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

const (
	maxHeader  = 64 << 10 // bytes of an answer's header
	maxInterim = 8        // answers before it that only say that it comes (RFC 9110, section 15.2)
)

// getPlain sends a request over a connection of its own. It returns the header of an answer
// that is not read here, a redirection, instead of a response.
func (p *Puller) getPlain(req *http.Request) (r *response, redirection *http.Response, err error) {
	ctx := req.Context()
	address := req.URL.Host
	if req.URL.Port() == "" {
		address = net.JoinHostPort(req.URL.Hostname(), ports["http"])
	}
	conn, err := p.dial(ctx, "tcp", address)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	end := func() {
		stop()
		conn.Close()
	}
	resp, rest, err := p.exchange(req, conn)
	switch {
	case err != nil && ctx.Err() != nil:
		err = context.Cause(ctx)
		fallthrough
	case err != nil:
		end()
		return nil, nil, err
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		end()
		resp.Body = http.NoBody
		return nil, resp, nil
	}
	raw := sluice.NewBufReaderFrom(bufio.NewReadWriter(rest, nil), brief.Conn(conn))
	if err := raw.SetTimeout(p.options.Idle); err != nil {
		raw.Recycle()
		end()
		return nil, nil, err
	}
	length := resp.ContentLength
	switch {
	case len(resp.TransferEncoding) > 0:
		length = flvbody.Chunked // the only coding that net/http accepts
	case length < 0:
		length = flvbody.ToTheEnd
	}
	return &response{status: resp.StatusCode, body: raw, length: length, via: WayOfHeader(resp.Header.Values("Via")), again: true, close: end}, nil, nil
}

// exchange writes a request and reads the header of its answer. The reader has what came
// behind that.
func (p *Puller) exchange(req *http.Request, conn net.Conn) (*http.Response, *bufio.Reader, error) {
	if err := conn.SetDeadline(time.Now().Add(p.options.Start)); err != nil {
		return nil, nil, err
	}
	req = req.Clone(req.Context())
	req.Close = true
	if err := req.Write(conn); err != nil {
		return nil, nil, err
	}
	head := &headReader{conn: conn, left: maxHeader}
	r := bufio.NewReader(head)
	for range maxInterim {
		resp, err := http.ReadResponse(r, req)
		switch {
		case err != nil:
			return nil, nil, cmp.Or(head.err, err)
		case resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols:
			return resp, r, conn.SetDeadline(time.Time{})
		}
	}
	return nil, nil, fmt.Errorf("%d answers only say that one comes", maxInterim)
}

// A headReader reads so many bytes at most, and keeps why it could not read on: what was
// read until then may be wrong for that reason only.
type headReader struct {
	conn net.Conn
	left int
	err  error // nil for the end
}

func (h *headReader) Read(p []byte) (n int, err error) {
	if h.left == 0 {
		h.err = fmt.Errorf("the answer's header is longer than %d bytes", maxHeader)
		return 0, h.err
	}
	n, err = h.conn.Read(p[:min(len(p), h.left)])
	h.left -= n
	if err != io.EOF {
		h.err = err
	}
	return n, err
}
