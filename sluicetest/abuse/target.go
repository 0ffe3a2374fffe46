package abuse

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// ErrAddress: the target is neither on this machine nor at a private address, and
// it was not said that it is one's own.
var ErrAddress = errors.New("abuse: not a private address")

// ErrTarget: an address that names no server to try.
var ErrTarget = errors.New("abuse: bad target")

// A target is a server to try.
type target struct {
	scheme  string // rtmp, rtmps, http, https
	address string // host:port
	host    string
	app     string // "live"
}

// parseTarget reads rtmp://HOST/APP or http://HOST/APP, and their TLS forms.
func parseTarget(text string) (target, error) {
	u, err := url.Parse(text)
	if err != nil {
		return target{}, fmt.Errorf("%w: %w", ErrTarget, err)
	}
	ports := map[string]string{"rtmp": "1935", "rtmps": "443", "http": "80", "https": "443"}
	port, ok := ports[u.Scheme]
	if !ok {
		return target{}, fmt.Errorf("%w %q: want rtmp://HOST/APP or http://HOST/APP, or rtmps, https", ErrTarget, text)
	}
	if u.Hostname() == "" {
		return target{}, fmt.Errorf("%w %q: no host", ErrTarget, text)
	}
	if u.Port() != "" {
		port = u.Port()
	}
	app := strings.Trim(u.Path, "/")
	if app == "" {
		return target{}, fmt.Errorf("%w %q: no application; live is the usual one", ErrTarget, text)
	}
	return target{scheme: u.Scheme, address: net.JoinHostPort(u.Hostname(), port), host: u.Host, app: app}, nil
}

func (t target) tls() bool  { return strings.HasSuffix(t.scheme, "s") }
func (t target) http() bool { return strings.HasPrefix(t.scheme, "http") }

// pinned returns t with its name resolved, so that no later answer of a name
// server leads elsewhere. All addresses of the name have to be private, unless own.
func (t target) pinned(ctx context.Context, own bool) (target, error) {
	host, port, err := net.SplitHostPort(t.address)
	if err != nil {
		return t, fmt.Errorf("%w: %w", ErrTarget, err)
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return t, fmt.Errorf("%w: %w", ErrTarget, err)
	}
	for _, a := range addrs {
		if !own && !private(a.Unmap()) {
			return t, fmt.Errorf("%w: %s is at %v; only loopback, private and link-local addresses are tried unless the server is said to be your own", ErrAddress, host, a.Unmap())
		}
	}
	t.address = net.JoinHostPort(addrs[0].Unmap().String(), port)
	return t, nil
}

func private(a netip.Addr) bool {
	return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast()
}

// dial opens a connection whose reads and writes end at the latest when ctx does.
func (t target) dial(ctx context.Context) (net.Conn, error) {
	d := net.Dialer{Timeout: 5 * time.Second}
	conn, err := d.DialContext(ctx, "tcp", t.address)
	if err != nil {
		return nil, fmt.Errorf("abuse: %w", err)
	}
	if !t.tls() {
		return conn, nil
	}
	// What is tried is the server, not its certificate.
	secure := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}) //nolint:gosec
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("abuse: %w", err)
	}
	return secure, nil
}
