package relay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
)

// Environment variables with what must not stand on a command line.
const (
	EnvTokenSecret = access.SecretEnv
	EnvAPIToken    = "SLUICE_API_TOKEN"
)

// A Config says how a Server works. Settings names its fields as flags and
// files do, with their limits.
type Config struct {
	RTMP, RTMPS, HTTP, HTTPS string // addresses to listen at; "" or "off" for none
	Cert, Key                string // PEM files for RTMPS and HTTPS

	Merge     time.Duration
	GOP       bool
	GOPBytes  int
	GOPFrames int
	GOPTime   time.Duration
	Grace     time.Duration
	Takeover  string // refuse or replace

	Protect      []string // publish, play: what needs a token
	Hook         string   // URL that is asked before somebody publishes or plays
	AllowPublish []string // CIDR; empty for everybody
	AllowPlay    []string
	CORS         []string // origins whose pages may read from here; "*" for all

	MaxStreams           int // 0: no limit, also below
	MaxViewers           int
	MaxViewersPerAddress int

	Record string // directory
	Origin string // URL

	PProf     string // address on the loopback interface
	LogLevel  string
	LogFormat string

	// The secrets are not settings: they come from the environment.
	TokenSecret string
	APIToken    string
	// Version of the program, for the API.
	Version string

	times  times             // zero for the usual ones
	places map[string]string // where in a file a setting was made
}

// The values of Takeover.
const (
	takeoverRefuse  = "refuse"
	takeoverReplace = "replace"
)

// DefaultConfig returns what holds unless somebody says otherwise.
func DefaultConfig() Config {
	return Config{
		RTMP:                 ":1935",
		HTTP:                 ":8080",
		Merge:                95 * time.Millisecond,
		GOP:                  true,
		GOPBytes:             16 << 20,
		GOPFrames:            4096,
		GOPTime:              30 * time.Second,
		Grace:                5 * time.Second,
		Takeover:             takeoverRefuse,
		CORS:                 []string{"*"},
		MaxStreams:           1000,
		MaxViewers:           20_000,
		MaxViewersPerAddress: 5_000,
		LogLevel:             "info",
		LogFormat:            "text",
	}
}

// maxConfig is the longest file that is read, in bytes.
const maxConfig = 1 << 20

// ReadFile takes settings from a YAML file: a mapping of the names that
// Settings gives. Keys that are none of those are errors, as are values that a
// setting does not take; an error says in which line.
func (c *Config) ReadFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return err
	}
	if len(text) > maxConfig {
		return fmt.Errorf("%s: longer than %d bytes", name, maxConfig)
	}
	return c.readYAML(name, text)
}

func (c *Config) readYAML(name string, text []byte) error {
	file, err := parser.ParseBytes(bytes.TrimPrefix(text, []byte("\ufeff")), 0)
	if err != nil {
		// The library draws the place in several lines, behind one with its position.
		first, _, _ := strings.Cut(err.Error(), "\n")
		return fmt.Errorf("%s: %s", name, first)
	}
	settings := map[string]Setting{}
	for _, s := range c.Settings() {
		settings[s.Name] = s
	}
	for i, doc := range file.Docs {
		if i > 0 && doc.Body != nil {
			return fmt.Errorf("%s:%d: a second document", name, line(doc.Body))
		}
		var pairs []*ast.MappingValueNode
		switch body := doc.Body.(type) {
		case nil:
		case *ast.CommentGroupNode:
		case *ast.MappingNode:
			pairs = body.Values
		case *ast.MappingValueNode:
			pairs = []*ast.MappingValueNode{body}
		default:
			return fmt.Errorf("%s:%d: not a list of settings, such as http: \":8080\"", name, line(body))
		}
		for _, pair := range pairs {
			key := pair.Key.GetToken().Value
			where := fmt.Sprintf("%s:%d", name, line(pair.Key))
			setting, ok := settings[key]
			if !ok {
				return fmt.Errorf("%s: unknown key %q", where, key)
			}
			if err := setYAML(setting, pair.Value); err != nil {
				return fmt.Errorf("%s: %s: %w", where, key, err)
			}
			if c.places == nil {
				c.places = map[string]string{}
			}
			c.places[key] = where
		}
	}
	return nil
}

func line(n ast.Node) int { return n.GetToken().Position.Line }

// setYAML gives a setting the value of a node: a scalar, or for lists a
// sequence of scalars.
func setYAML(s Setting, n ast.Node) error {
	if seq, ok := n.(*ast.SequenceNode); ok {
		if !s.list() {
			return errors.New("takes one value, not a list")
		}
		items := make([]string, 0, len(seq.Values))
		for _, v := range seq.Values {
			text, err := scalar(v)
			if err != nil {
				return err
			}
			if strings.Contains(text, ",") {
				return fmt.Errorf("%q has a comma in it", text)
			}
			items = append(items, text)
		}
		return s.Set(strings.Join(items, ","))
	}
	text, err := scalar(n)
	if err != nil {
		return err
	}
	return s.Set(text)
}

func scalar(n ast.Node) (string, error) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, nil
	case *ast.NullNode:
		return "", errors.New(`has no value; "" is an empty one`)
	}
	return "", fmt.Errorf("takes a plain value, not a %s", strings.ToLower(n.Type().String()))
}

// ReadEnv takes the secrets from the environment, which getenv asks.
func (c *Config) ReadEnv(getenv func(string) string) {
	c.TokenSecret = getenv(EnvTokenSecret)
	c.APIToken = getenv(EnvAPIToken)
}

// Check reports the first setting that is out of its limits or does not go
// with the others. It names the setting and the limit.
func (c *Config) Check() error {
	for _, s := range c.Settings() {
		if err := s.check(); err != nil {
			return c.fault(s.Name, "%v", err)
		}
	}
	tls := on(c.RTMPS) || on(c.HTTPS)
	switch {
	case !on(c.RTMP) && !on(c.RTMPS) && !on(c.HTTP) && !on(c.HTTPS):
		return c.fault("http", "all listeners are off: one of rtmp, rtmps, http and https is needed")
	case tls && c.Cert == "":
		return c.fault("cert", "rtmps and https need a certificate file")
	case tls && c.Key == "":
		return c.fault("key", "rtmps and https need a key file")
	case len(c.Protect) > 0 && c.TokenSecret == "":
		return c.fault("protect", "needs a secret in the environment variable %s, such as what openssl rand -hex 32 prints", EnvTokenSecret)
	case len(c.Protect) > 0 && len(c.TokenSecret) < access.MinSecret:
		return c.fault("protect", "the secret in %s has %d bytes, at least %d are needed", EnvTokenSecret, len(c.TokenSecret), access.MinSecret)
	}
	return nil
}

// fault is an error about a setting that says where it was made.
func (c *Config) fault(name, format string, args ...any) error {
	text := name + ": " + fmt.Sprintf(format, args...)
	if place := c.places[name]; place != "" {
		text = place + ": " + text
	}
	return errors.New(text)
}

// on tells whether an address is one to listen at.
func on(address string) bool { return address != "" && address != "off" }

// times are what bounds the waits of a server. Tests make them shorter.
type times struct {
	header  time.Duration // from a connection's beginning to the end of its first request header
	request time.Duration // for a request whose body is not media
	idle    time.Duration // between requests
	answer  time.Duration // to send an answer that is not media
	silence time.Duration // without a byte from a publisher
	step    time.Duration // between looks at what a publisher has sent
	rate    time.Duration // over which a publisher's rate is measured
	pull    time.Duration // for the edge to find out whether there is a stream
	sample  time.Duration // between samples of the history
}

// withDefaults fills in what is zero.
func (t times) withDefaults() times {
	for _, f := range []struct {
		have  *time.Duration
		usual time.Duration
	}{
		{&t.header, 10 * time.Second},
		{&t.request, 10 * time.Second},
		{&t.idle, 10 * time.Second},
		{&t.answer, 30 * time.Second},
		{&t.silence, 10 * time.Second},
		{&t.step, 1250 * time.Millisecond},
		{&t.rate, 10 * time.Second},
		{&t.pull, 5 * time.Second},
		{&t.sample, 2 * time.Second},
	} {
		if *f.have == 0 {
			*f.have = f.usual
		}
	}
	return t
}
