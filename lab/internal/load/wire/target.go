package wire

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options say what requests are, as far as the scheme of the target leaves it open. Those
// for another scheme are an error.
type Options struct {
	HTTP     *HTTP  `json:"http,omitempty"`
	Redis    *Redis `json:"redis,omitempty"`
	Own      *Own   `json:"own,omitempty"`
	File     *File  `json:"file,omitempty"`
	Insecure bool   `json:"insecure,omitempty"` // TLS: take any certificate
	CA       string `json:"ca,omitempty"`       // TLS: a file of certificates to trust instead of the system's
	// Via is the TCP address that is dialled instead of the target's; nothing else of the target changes.
	Via string `json:"-"`
}

// How a target is driven.
type Drive uint8

const (
	Raw    Drive = iota // bytes on a socket: any engine
	Stream              // bytes on a net.Conn: not the engine over epoll
	Calls               // see Caller
)

// A Target is a server and what it speaks.
type Target struct {
	Name    string // as given
	Drive   Drive
	Classes []Class // of replies; nil if there is one only
	// Reopen: the target may end a connection on which no request is under way.
	Reopen bool

	scheme  string
	url     *url.URL // nil without a scheme
	network string
	addr    string
	tls     bool
	options *Options
	http    *HTTP // of the options, or what holds without them
	redis   *Redis
	file    *File
	own     *own     // nil without one; connections have copies
	storage *storage // of a file, once it is prepared
}

type scheme struct {
	port    string // unless the URL has one; empty: it must have one
	tls     bool
	drive   Drive
	classes []Class
	reopen  bool
}

var schemes = map[string]scheme{
	"http":    {port: "80", classes: statusClasses, reopen: true},
	"https":   {port: "443", tls: true, drive: Stream, classes: statusClasses, reopen: true},
	"ws":      {port: "80", drive: Stream},
	"wss":     {port: "443", tls: true, drive: Stream},
	"tcp":     {},
	"tcp+tls": {tls: true, drive: Stream},
	"redis":   {port: "6379", classes: redisClasses},
	"rediss":  {port: "6379", tls: true, drive: Stream, classes: redisClasses},
}

// Scheme is the scheme of a target, and empty for HOST:PORT and unix:PATH.
func Scheme(target string) string {
	if strings.HasPrefix(target, "file:") {
		return "file"
	}
	name, _, ok := strings.Cut(target, "://")
	if !ok {
		return ""
	}
	return name
}

// ParseTarget reads a target: a URL, HOST:PORT or unix:PATH. It keeps options. Errors are
// ErrTarget.
func ParseTarget(text string, options *Options) (*Target, error) {
	t := &Target{
		Name: text, network: "tcp", addr: text,
		options: options, http: cmp.Or(options.HTTP, new(HTTP)), redis: cmp.Or(options.Redis, new(Redis)), file: cmp.Or(options.File, new(File)),
	}
	bad := func(format string, args ...any) (*Target, error) {
		return nil, fmt.Errorf("%w: target %q: %s", ErrTarget, Public(text), fmt.Sprintf(format, args...))
	}
	t.scheme = Scheme(text)
	s, known := schemes[t.scheme]
	switch {
	case t.scheme == "" && strings.HasPrefix(text, "unix:"):
		if t.network, t.addr = "unix", text[len("unix:"):]; t.addr == "" {
			return bad("it names no path")
		}
	case t.scheme == "":
		_, port, err := net.SplitHostPort(text)
		if err != nil {
			return bad("it is neither HOST:PORT, unix:PATH nor a URL")
		}
		if n, err := net.LookupPort("tcp", port); err != nil || n == 0 {
			return bad("it needs a port of 1 to 65535")
		}
	case t.scheme == "file":
		t.addr, t.Drive = strings.TrimPrefix(strings.TrimPrefix(text, "file:"), "//"), Calls
	case !known:
		return bad("there is no scheme %q, there are %s and file", t.scheme, strings.Join(slices.Sorted(maps.Keys(schemes)), ", "))
	default:
		u, err := url.Parse(text)
		if err != nil || u.Hostname() == "" {
			return bad("an invalid URL")
		}
		port := cmp.Or(u.Port(), s.port)
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return bad("it needs a port of 1 to 65535")
		}
		t.url, t.addr = u, net.JoinHostPort(u.Hostname(), port)
		t.tls, t.Drive, t.Classes, t.Reopen = s.tls, s.drive, s.classes, s.reopen
	}
	if err := t.checkOptions(); err != nil {
		return bad("%v", err)
	}
	t.addr = cmp.Or(options.Via, t.addr)
	return t, nil
}

func (t *Target) checkOptions() error {
	o := t.options
	web := t.Is("http", "https")
	switch {
	case o.File != nil && !t.Is("file"):
		return errors.New("it is not a file: --pattern, --file-size, --fsync, --direct and --overwrite are not for it")
	case o.HTTP != nil && !web && !t.Is("ws", "wss"):
		return errors.New("it is not HTTP: --method, --header, --body and --http2 are not for it")
	case o.HTTP != nil && !web && (o.HTTP.Method != "" || o.HTTP.Body != nil || o.HTTP.Two):
		return errors.New("a WebSocket has headers, but no method, body or HTTP/2")
	case o.Redis != nil && !t.Is("redis", "rediss"):
		return errors.New("it is not Redis: --command and --keys are not for it")
	case o.Own != nil && t.scheme != "" && !t.Is("tcp", "tcp+tls"):
		return errors.New("--request and --reply are for tcp, tcp+tls, HOST:PORT and unix:PATH")
	case (o.Insecure || o.CA != "") && !t.tls:
		return errors.New("it has no TLS: --insecure and --ca are not for it")
	case t.Is("tcp", "tcp+tls") && (strings.Trim(t.url.Path, "/") != "" || t.url.User != nil || t.url.RawQuery != ""):
		return errors.New("it takes a host and a port only")
	}
	if t.http.Two {
		t.Drive = Calls
	}
	_, err := newRedis(t.redis, nil)
	if err = errors.Join(t.http.check(), err); err == nil && o.Own != nil {
		t.own, err = newOwn(o.Own)
	}
	switch {
	case err == nil && t.Is("file"):
		err = t.file.check(t.addr)
	case err == nil && t.tls:
		_, err = t.tlsConfig()
	}
	return err
}

func (t *Target) tlsConfig() (*tls.Config, error) {
	c := &tls.Config{ServerName: t.url.Hostname(), InsecureSkipVerify: t.options.Insecure, NextProtos: []string{"http/1.1"}}
	switch {
	case t.Drive == Calls:
		c.NextProtos = []string{"h2"}
	case !t.Is("https", "wss"):
		c.NextProtos = nil
	}
	if t.options.CA != "" {
		pem, err := os.ReadFile(t.options.CA)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s has no certificate in PEM", t.options.CA)
		}
	}
	return c, nil
}

// Addr is the TCP address that is dialled, host:port; empty for a Unix socket and a file.
func (t *Target) Addr() string {
	if t.network != "tcp" || t.Is("file") {
		return ""
	}
	return t.addr
}

// String is the target as given, without what is secret in it.
func (t *Target) String() string { return Public(t.Name) }

// Is reports whether the target has one of these schemes.
func (t *Target) Is(schemes ...string) bool { return slices.Contains(schemes, t.scheme) }

// Protocol returns what a connection speaks. name is echo, frame or ack and matters if
// the options and the scheme leave it open.
func (t *Target) Protocol(name string, content *Content, verify bool) Protocol {
	frame := framed{Content: content, before: lengthLen}
	switch {
	case t.Is("http", "https"):
		return &http1{same: t.http.request1(t.url), bare: t.http.method() == "HEAD"}
	case t.Is("redis", "rediss"):
		r, err := newRedis(t.redis, content)
		if err != nil {
			panic("wire: Protocol of a target that is not checked: " + err.Error())
		}
		return r
	case t.Is("ws", "wss"):
		return &message{echo: echo{framed: frame, verify: verify}, frame: own{length: lengthLen, order: binary.BigEndian}}
	case t.own != nil:
		o := *t.own
		return &o
	case name == "ack":
		return &acked{framed: frame}
	case name == "echo":
		frame.before = 0
	}
	return &echo{framed: frame, verify: verify}
}

// Alike reports whether connections to both can carry the same requests: they differ
// in the host and port only.
func (t *Target) Alike(o *Target) bool {
	if t.scheme != o.scheme || t.url == nil {
		return t.scheme == o.scheme
	}
	return t.url.RequestURI() == o.url.RequestURI()
}

// Prepare makes what requests need, and returns what removes it again: the file, if
// it does not exist. It is for targets whose Drive is Calls.
func (t *Target) Prepare(ctx context.Context) (remove func() error, err error) {
	if !t.Is("file") {
		return func() error { return nil }, nil
	}
	t.storage = &storage{path: t.addr, options: *t.file}
	if err := t.storage.prepare(ctx); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	return t.storage.remove, nil
}

// Caller makes a connection for calls, each of which may take as long as limit. The
// Target's Drive is Calls.
func (t *Target) Caller(ctx context.Context, limit time.Duration) (Caller, error) {
	if t.storage != nil {
		return t.storage.open()
	}
	return newH2(ctx, t, limit)
}
