package source

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/srtconn"
)

// ErrAddress: a text that is not STREAM=URL.
var ErrAddress = errors.New("source: not of the form APP/NAME=rtsp://host/path or srt://host:port")

// A Source is where one stream comes from.
type Source struct {
	Stream string // APP/NAME
	Always bool   // also without viewers
	url    *url.URL
	host   string           // with a port
	srt    *srtconn.Address // nil: RTSP
}

// always stands before the address of a source that is pulled always.
const always = "always:"

// Parse reads APP/NAME=rtsp://USER:PASSWORD@HOST/PATH, with rtsps:// for TLS, or
// APP/NAME=srt://HOST:PORT?streamid=ID&passphrase=SECRET, which is called, and with always: before the address of a source that is pulled also without viewers. An error matches
// ErrAddress and has no password in it.
func Parse(text string) (*Source, error) {
	name, address, ok := strings.Cut(text, "=")
	if !ok {
		return nil, fmt.Errorf("%w: no = in it", ErrAddress)
	}
	app, rest, _ := strings.Cut(name, "/")
	stream, err := session.StreamName(app, rest)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAddress, err)
	}
	s := &Source{Stream: stream}
	address, s.Always = strings.CutPrefix(address, always)
	if s.url, err = url.Parse(address); err != nil {
		return nil, fmt.Errorf("%w: the address of %s", ErrAddress, stream) // err has the password
	}
	if s.url.Scheme == "srt" && s.url.Hostname() != "" {
		if s.srt, err = srtconn.ParseAddress(s.url); err != nil {
			return nil, fmt.Errorf("%w: the address of %s: %w", ErrAddress, stream, err)
		}
		s.host = s.url.Host
		return s, nil
	}
	if ports[s.url.Scheme] == "" || s.url.Hostname() == "" {
		return nil, fmt.Errorf("%w: the address of %s does not begin with rtsp://host, rtsps://host or srt://host", ErrAddress, stream)
	}
	if s.host, err = hostPort(s.url); err != nil {
		return nil, fmt.Errorf("%w: the address of %s has a port that is not a number from 1 to 65535", ErrAddress, stream)
	}
	return s, nil
}

// ports are those of the schemes, where an address has none.
var ports = map[string]string{"rtsp": "554", "rtsps": "322"}

// hostPort returns the host of an address with its port; ErrAddress: that is none.
func hostPort(u *url.URL) (string, error) {
	port := cmp.Or(u.Port(), ports[u.Scheme])
	if !srtconn.PortFits(port) {
		return "", ErrAddress
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

// ParseAll reads several, each for another stream.
func ParseAll(texts []string) ([]*Source, error) {
	var list []*Source
	seen := map[string]bool{}
	for _, text := range texts {
		s, err := Parse(text)
		if err != nil {
			return nil, err
		}
		if seen[s.Stream] {
			return nil, fmt.Errorf("%w: a second source of %s", ErrAddress, s.Stream)
		}
		seen[s.Stream] = true
		list = append(list, s)
	}
	return list, nil
}

// Protocol is the session's: session.RTSP or session.SRT.
func (s *Source) Protocol() string {
	if s.srt != nil {
		return session.SRT
	}
	return session.RTSP
}

// String is the address without user, password and query.
func (s *Source) String() string { return s.url.Scheme + "://" + s.host + s.url.Path }

// address is what requests name: without user and password, and without a zone, which means nothing
// to the server (RFC 6874, section 1).
func (s *Source) address() string {
	u := *s.url
	u.User = nil
	if host, rest, ok := strings.Cut(u.Host, "%"); ok && strings.Contains(rest, "]") {
		u.Host = host + rest[strings.IndexByte(rest, ']'):]
	}
	return u.String()
}

func (s *Source) secure() bool { return s.url.Scheme == "rtsps" }
