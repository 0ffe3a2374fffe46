package rtmp

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// URL is the address of a stream: rtmp://host/app/stream, where the application
// may have slashes in it.
type URL struct {
	Scheme string     // "rtmp" or "rtmps"
	Host   string     // with port
	App    string     // "live"
	Stream string     // "s", without query
	Query  url.Values // of the stream; never nil
	query  string     // as it was written
}

// Ports of the schemes when an address has none.
const (
	DefaultPort    = "1935"
	DefaultPortTLS = "443"
)

// ParseURL reads the address of a stream. The last part of the path is the
// stream's name, all before it the application; both are unescaped, as they are
// sent. What is none, or has a fragment, or a user, which RTMP cannot send, is ErrURL.
func ParseURL(s string) (URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		// url's error repeats the address, in which there may be a token.
		return URL{}, fmt.Errorf("%w: %w", ErrURL, withoutAddress(err))
	}
	r := URL{Scheme: strings.ToLower(u.Scheme), query: u.RawQuery, Query: u.Query()}
	port := DefaultPort
	switch r.Scheme {
	case "rtmp":
	case "rtmps":
		port = DefaultPortTLS
	default:
		return URL{}, fmt.Errorf("%w: scheme %.20q, want rtmp or rtmps", ErrURL, u.Scheme)
	}
	if u.User != nil {
		return URL{}, fmt.Errorf("%w: it has a user name", ErrURL)
	}
	if strings.Contains(s, "#") { // others send what follows: a name without it would be another
		return URL{}, fmt.Errorf("%w: it has a fragment: # is written %%23", ErrURL)
	}
	if u.Port() != "" {
		port = u.Port()
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return URL{}, fmt.Errorf("%w: port %.10q, want 0 to 65535", ErrURL, port)
	}
	if strings.Contains(u.Hostname(), ":") && !strings.HasPrefix(u.Host, "[") {
		return URL{}, fmt.Errorf("%w: host %.50q, want an IPv6 address in brackets", ErrURL, u.Host)
	}
	r.Host = net.JoinHostPort(u.Hostname(), port)
	// Split before it is unescaped: an escaped slash is part of a name.
	path := strings.Trim(u.EscapedPath(), "/")
	i := strings.LastIndexByte(path, '/')
	if u.Hostname() == "" || i < 1 {
		return URL{}, fmt.Errorf("%w: want %s://host/app/stream", ErrURL, r.Scheme)
	}
	if r.App, err = url.PathUnescape(strings.TrimRight(path[:i], "/")); err == nil {
		r.Stream, err = url.PathUnescape(path[i+1:])
	}
	if err != nil {
		return URL{}, fmt.Errorf("%w: %w", ErrURL, withoutAddress(err))
	}
	return r, nil
}

func withoutAddress(err error) error {
	if e, ok := err.(*url.Error); ok {
		return e.Err
	}
	return err
}

// TCURL returns the address of the application, for ConnectOptions.
func (u URL) TCURL() string { return u.Scheme + "://" + u.Host + "/" + u.App }

// Name returns the stream's name with its query, for Publish and Play.
func (u URL) Name() string {
	if u.query == "" {
		return u.Stream
	}
	return u.Stream + "?" + u.query
}

// String returns the whole address, with its port, as ParseURL reads it.
func (u URL) String() string {
	escaped := func(name string) string { return (&url.URL{Path: name}).EscapedPath() }
	whole := func(name string) string { return strings.ReplaceAll(escaped(name), "/", "%2F") }
	app := escaped(u.App)
	if strings.Trim(u.App, "/") != u.App { // else these would be taken for the path's own
		app = whole(u.App)
	}
	s := u.Scheme + "://" + u.Host + "/" + app + "/" + whole(u.Stream)
	if u.query != "" {
		s += "?" + u.query
	}
	return s
}
