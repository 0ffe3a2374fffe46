package edge

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// ErrOrigin means that an address is not valid for an origin.
var ErrOrigin = errors.New("edge: not the address of an origin")

// An Origin is where streams are pulled from.
type Origin struct {
	scheme string // rtmp, rtmps, http or https
	host   string // with a port
	name   string // the host without it
	path   string // without slashes around it: RTMP's application, HTTP's prefix; may be empty
	query  url.Values
}

// ParseOrigins reads the addresses of origins, which ParseOrigin describes.
func ParseOrigins(addresses []string) ([]*Origin, error) {
	var list []*Origin
	for _, address := range addresses {
		o, err := ParseOrigin(address)
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, nil
}

// ports are the default ports by scheme.
var ports = map[string]string{"rtmp": "1935", "rtmps": "443", "http": "80", "https": "443"}

// ParseOrigin reads the address of an origin:
//
//   - rtmp://host/app and rtmps://host/app: the stream live/name is app/name
//     there; without app it has the same name;
//   - http://host/prefix and https://host/prefix: the stream live/name is at
//     http://host/prefix/live/name.flv.
//
// A query in the address, for example a token, is added to every request. Without
// merge in that query, merge=0 is requested, so that frames are not collected:
// otherwise each server on the way would add its merge time to the delay.
func ParseOrigin(address string) (*Origin, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOrigin, err)
	}
	port, ok := ports[u.Scheme]
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: %q begins with none of rtmp, rtmps, http, https", ErrOrigin, redacted(u))
	case u.Hostname() == "":
		return nil, fmt.Errorf("%w: %q names no host", ErrOrigin, redacted(u))
	case u.User != nil:
		return nil, fmt.Errorf("%w: %q has a user in it; a token goes into the query", ErrOrigin, redacted(u))
	}
	if u.Port() != "" {
		port = u.Port()
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("%w: the query of %q: %w", ErrOrigin, redacted(u), err)
	}
	if !query.Has("merge") {
		query.Set("merge", "0")
	}
	return &Origin{
		scheme: u.Scheme,
		host:   net.JoinHostPort(u.Hostname(), port),
		name:   u.Hostname(),
		path:   strings.Trim(u.Path, "/"),
		query:  query,
	}, nil
}

// redacted returns u without parts that may be secret.
func redacted(u *url.URL) string {
	c := *u
	if c.User != nil {
		c.User = url.User("...")
	}
	if c.RawQuery != "" {
		c.RawQuery = "..."
	}
	return c.String()
}

// String returns the address without the query, which may hold a secret.
func (o *Origin) String() string {
	if o.path == "" {
		return o.scheme + "://" + o.host
	}
	return o.scheme + "://" + o.host + "/" + o.path
}

// Secure reports whether connections to it use TLS.
func (o *Origin) Secure() bool { return o.scheme == "rtmps" || o.scheme == "https" }

// HTTP reports whether it speaks HTTP and not RTMP.
func (o *Origin) HTTP() bool { return o.scheme == "http" || o.scheme == "https" }

// streamURL is the HTTP URL of the stream.
func (o *Origin) streamURL(stream string) string {
	u := url.URL{Scheme: o.scheme, Host: o.host, Path: "/" + stream + ".flv", RawQuery: o.query.Encode()}
	if o.path != "" {
		u.Path = "/" + o.path + u.Path
	}
	return u.String()
}

// rtmpNames are what the stream is called over RTMP: the application, the
// address that connect names, and the stream's own name with the query.
func (o *Origin) rtmpNames(stream string) (app, tcURL, name string) {
	app, name, ok := strings.Cut(stream, "/")
	if !ok {
		app, name = "", stream
	}
	if o.path != "" {
		app = o.path
	}
	tcURL = o.scheme + "://" + o.host + "/" + app
	if len(o.query) > 0 {
		name += "?" + o.query.Encode()
	}
	return app, tcURL, name
}
