package relay

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
)

// A Setting is one field of a Config as flags and files know it. It has the
// methods of a flag's value: Set, String, Type.
type Setting struct {
	Name  string
	Group string
	Usage string // with the kind of value in back quotes
	value value
	fits  func() error // nil when every value of its kind does
}

// value is how a field is read and written as text.
type value interface {
	Set(text string) error
	String() string
	Type() string
}

// Set takes a value as text. What is out of the setting's limits is an error.
func (s Setting) Set(text string) error {
	before := s.value.String()
	if err := s.value.Set(text); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		if back := s.value.Set(before); back != nil {
			return back
		}
		return err
	}
	return nil
}

// String returns the value as Set takes it.
func (s Setting) String() string {
	if s.value == nil {
		return ""
	}
	return s.value.String()
}

// Type returns the kind of value.
func (s Setting) Type() string { return s.value.Type() }

func (s Setting) check() error {
	if s.fits == nil {
		return nil
	}
	return s.fits()
}

func (s Setting) list() bool { return s.Type() == "list" }

// Groups are those of the settings, in their order.
var Groups = []string{"Listening", "Streams", "Who may", "Limits", "Elsewhere", "Operation"}

// Settings returns the fields of c, by the order of Groups. They change c.
func (c *Config) Settings() []Setting {
	list := []Setting{
		{"rtmp", "Listening", "`address` for RTMP, host:port; off for none", (*textValue)(&c.RTMP), address(&c.RTMP)},
		{"rtmps", "Listening", "`address` for RTMP over TLS; needs cert and key", (*textValue)(&c.RTMPS), address(&c.RTMPS)},
		{"http", "Listening", "`address` for HTTP: page, FLV, WebSocket, API; off for none", (*textValue)(&c.HTTP), address(&c.HTTP)},
		{"https", "Listening", "`address` for HTTP over TLS; needs cert and key", (*textValue)(&c.HTTPS), address(&c.HTTPS)},
		{"cert", "Listening", "PEM `file` with the certificate chain; read again when it changes", (*textValue)(&c.Cert), nil},
		{"key", "Listening", "PEM `file` with the private key", (*textValue)(&c.Key), nil},

		{"merge", "Streams", "collect frames for this `time` and send them at once: 0 to 350ms; viewers may choose with ?merge=", (*durationValue)(&c.Merge), between(&c.Merge, 0, maxMerge)},
		{"gop", "Streams", "viewers begin with the key frame that is there, not with the next", (*boolValue)(&c.GOP), nil},
		{"gop-bytes", "Streams", "keep at most this `size` of a stream, such as 16MiB", (*sizeValue)(&c.GOPBytes), between(&c.GOPBytes, 64<<10, 1<<30)},
		{"gop-frames", "Streams", "keep at most `N` frames of a stream", (*intValue)(&c.GOPFrames), between(&c.GOPFrames, 16, 1<<20)},
		{"gop-time", "Streams", "keep at most this `time` of a stream", (*durationValue)(&c.GOPTime), between(&c.GOPTime, 100*time.Millisecond, 10*time.Minute)},
		{"grace", "Streams", "a stream waits this `time` for its publisher to come back", (*durationValue)(&c.Grace), between(&c.Grace, 0, 10*time.Minute)},
		{"takeover", "Streams", "`policy` for a second publisher of a stream: refuse it, or let it replace the first", (*textValue)(&c.Takeover), oneOf(&c.Takeover, takeoverRefuse, takeoverReplace)},

		{"protect", "Who may", "`actions` that need a token: publish, play or both; see sluice token", (*listValue)(&c.Protect), allOf(&c.Protect, "publish", "play")},
		{"hook", "Who may", "`URL` that is asked before somebody publishes or plays", (*textValue)(&c.Hook), webURL(&c.Hook, "http", "https")},
		{"allow-publish", "Who may", "`networks` that may publish, such as 10.0.0.0/8,::1; all unless given", (*listValue)(&c.AllowPublish), networks(&c.AllowPublish)},
		{"allow-play", "Who may", "`networks` that may play; all unless given", (*listValue)(&c.AllowPlay), networks(&c.AllowPlay)},
		{"cors", "Who may", "`origins` whose pages may play from here, such as https://example.com; * for all, off for none", (*listValue)(&c.CORS), origins(&c.CORS)},

		{"max-streams", "Limits", "at most `N` streams; 0 for no limit", (*intValue)(&c.MaxStreams), between(&c.MaxStreams, 0, 1<<30)},
		{"max-viewers", "Limits", "at most `N` viewers; 0 for no limit", (*intValue)(&c.MaxViewers), between(&c.MaxViewers, 0, 1<<30)},
		{"max-viewers-per-address", "Limits", "at most `N` viewers from one address; 0 for no limit", (*intValue)(&c.MaxViewersPerAddress), between(&c.MaxViewersPerAddress, 0, 1<<30)},

		{"record", "Elsewhere", "write what is published to FLV files in this `directory`", (*textValue)(&c.Record), nil},
		{"origin", "Elsewhere", "`URL`, rtmp:// or http://, of a server from which streams are fetched when somebody watches them", (*textValue)(&c.Origin), webURL(&c.Origin, "rtmp", "rtmps", "http", "https")},

		{"pprof", "Operation", "`address` on the loopback interface for Go's profiles", (*textValue)(&c.PProf), loopback(&c.PProf)},
		{"log-level", "Operation", "log what has this `level` or a higher one: debug, info, warn, error", (*textValue)(&c.LogLevel), oneOf(&c.LogLevel, "debug", "info", "warn", "error")},
		{"log-format", "Operation", "`format` of the log, which goes to standard error: text or json", (*textValue)(&c.LogFormat), oneOf(&c.LogFormat, "text", "json")},
	}
	return list
}

// The kinds of value.

type textValue string

func (v *textValue) Set(text string) error { *v = textValue(text); return nil }
func (v *textValue) String() string        { return string(*v) }
func (*textValue) Type() string            { return "string" }

type boolValue bool

func (v *boolValue) Set(text string) error {
	switch text {
	case "true", "1", "on", "yes":
		*v = true
	case "false", "0", "off", "no":
		*v = false
	default:
		return fmt.Errorf("%q is neither true nor false", text)
	}
	return nil
}
func (v *boolValue) String() string { return strconv.FormatBool(bool(*v)) }
func (*boolValue) Type() string     { return "bool" }

type intValue int

func (v *intValue) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("%q is not a whole number", text)
	}
	*v = intValue(n)
	return nil
}
func (v *intValue) String() string { return strconv.Itoa(int(*v)) }
func (*intValue) Type() string     { return "int" }

// sizeValue is a number of bytes, with KiB, MiB or GiB.
type sizeValue int

var sizeUnits = []struct {
	name  string
	bytes int
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

func (v *sizeValue) Set(text string) error {
	number, unit := text, 1
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(text, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
		}
	}
	n, err := strconv.Atoi(number)
	if err != nil || n > (1<<31-1)/unit || n < 0 {
		return fmt.Errorf("%q is not a size, such as 65536, 512KiB or 16MiB", text)
	}
	*v = sizeValue(n * unit)
	return nil
}

func (v *sizeValue) String() string {
	for _, u := range sizeUnits {
		if n := int(*v); n > 0 && n%u.bytes == 0 {
			return strconv.Itoa(n/u.bytes) + u.name
		}
	}
	return strconv.Itoa(int(*v))
}
func (*sizeValue) Type() string { return "size" }

type durationValue time.Duration

func (v *durationValue) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is not a time with its unit, such as 80ms or 5s", text)
	}
	*v = durationValue(d)
	return nil
}
func (v *durationValue) String() string { return time.Duration(*v).String() }
func (*durationValue) Type() string     { return "duration" }

// listValue is a list with commas between its items.
type listValue []string

func (v *listValue) Set(text string) error {
	*v = nil
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			*v = append(*v, item)
		}
	}
	return nil
}
func (v *listValue) String() string { return strings.Join(*v, ",") }
func (*listValue) Type() string     { return "list" }

// The limits.

func between[T int | time.Duration](v *T, low, high T) func() error {
	return func() error {
		if *v < low || *v > high {
			return fmt.Errorf("%v is not within %v to %v", *v, low, high)
		}
		return nil
	}
}

func oneOf(v *string, names ...string) func() error {
	return func() error {
		if !slices.Contains(names, *v) {
			return fmt.Errorf("%q is not one of %s", *v, strings.Join(names, ", "))
		}
		return nil
	}
}

func allOf(v *[]string, names ...string) func() error {
	return func() error {
		for i := range *v {
			if err := oneOf(&(*v)[i], names...)(); err != nil {
				return err
			}
		}
		return nil
	}
}

// address wants what net.Listen takes, or nothing.
func address(v *string) func() error {
	return func() error {
		if !on(*v) {
			return nil
		}
		_, port, err := net.SplitHostPort(*v)
		if err != nil {
			return fmt.Errorf("%q is not an address such as 127.0.0.1:8080 or :8080, or off", *v)
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil {
			return fmt.Errorf("%q: the port is not a number from 0 to 65535", *v)
		} else if n == 0 && strings.Trim(port, "0") != "" {
			return fmt.Errorf("%q: the port is not a number from 0 to 65535", *v)
		}
		return nil
	}
}

// loopback wants an address that only this machine reaches.
func loopback(v *string) func() error {
	return func() error {
		if !on(*v) {
			return nil
		}
		if err := address(v)(); err != nil {
			return err
		}
		host, _, _ := net.SplitHostPort(*v)
		if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
			return fmt.Errorf("%q is not on the loopback interface: profiles are for this machine only, such as 127.0.0.1:6060", *v)
		}
		return nil
	}
}

func webURL(v *string, schemes ...string) func() error {
	return func() error {
		if *v == "" {
			return nil
		}
		u, err := url.Parse(*v)
		if err != nil || !slices.Contains(schemes, u.Scheme) || u.Host == "" {
			return fmt.Errorf("%q is not a URL that begins with %s://", *v, strings.Join(schemes, ":// or "))
		}
		return nil
	}
}

func networks(v *[]string) func() error {
	return func() error {
		_, err := access.ParseAllow(strings.Join(*v, ","))
		return err
	}
}

func origins(v *[]string) func() error {
	return func() error {
		for _, text := range *v {
			if text == "*" || text == "off" {
				if len(*v) > 1 {
					return fmt.Errorf("%q stands alone or not at all", text)
				}
				continue
			}
			u, err := url.Parse(text)
			if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.Scheme+"://"+u.Host != text {
				return fmt.Errorf("%q is not an origin such as https://example.com", text)
			}
		}
		return nil
	}
}
