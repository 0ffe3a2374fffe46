package source

import (
	"fmt"
	"net/url"
	"strings"
)

// maxRedirections is how many a source may make, as net/http's client follows.
const maxRedirections = 10

// A redirection is an answer that names another address.
type redirection string

func (r redirection) Error() string { return "source: redirected" }

// redirects reports whether a status says that the stream is at another address (RFC 2326,
// section 11.3). A proxy (305) is asked like a server.
func redirects(status int) bool {
	switch status {
	case 301, 302, 303, 305, 307, 308:
		return true
	}
	return false
}

// redirected returns the source at the address that a server has named. User and password go
// with it only to the same host, and not from TLS to a connection in clear.
func (s *Source) redirected(location string) (*Source, error) {
	u, err := url.Parse(strings.TrimSpace(location))
	if err != nil {
		return nil, fmt.Errorf("%w: redirected to an invalid address", ErrRefused) // err may have a password
	}
	u = s.url.ResolveReference(u)
	port := ports[u.Scheme]
	if port == "" || u.Hostname() == "" {
		return nil, fmt.Errorf("%w: redirected to an address that does not begin with rtsp://host or rtsps://host", ErrRefused)
	}
	if u.User == nil && strings.EqualFold(u.Hostname(), s.url.Hostname()) && (u.Scheme == s.url.Scheme || u.Scheme == "rtsps") {
		u.User = s.url.User
	}
	next := &Source{Stream: s.Stream, Always: s.Always, url: u}
	next.host, err = hostPort(u)
	if err != nil {
		return nil, fmt.Errorf("%w: redirected to a port that is not a number from 1 to 65535", ErrRefused)
	}
	return next, nil
}
