package push

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/pattern"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/srtconn"
)

// ErrTarget means that a text is not a target.
var ErrTarget = errors.New("push: not a target such as live/*=rtmp://host/app/name or live/*=srt://host:port?streamid=publish:*")

// A Target is where streams with matching names are pushed.
type Target struct {
	streams      pattern.Pattern
	scheme, host string           // host with its port
	name         string           // the host without it
	app, key     string           // key is the stream's name there, with its query; it may be a secret
	srt          *srtconn.Address // nil: RTMP. key is its stream id then
	enhanced     bool             // it takes the codecs of enhanced RTMP, whether it says so or not
	id           string           // of one that was added while the server runs
	address      string           // as it was given, with the values of variables
}

// enhancedMark before a target's address says that it takes enhanced RTMP.
const enhancedMark = "enhanced:"

// variable is an environment variable in a target's address.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// ParseTarget reads PATTERN=URL. The pattern is a stream's name, in which one * stands
// for any characters. The URL is rtmp://host/app/name or rtmps://..., or
// srt://host:port?streamid=ID&passphrase=SECRET&latency=MS, in whose name or id * stands
// for what that of the pattern has matched. ${NAME} in it is replaced by what
// getenv returns: a key should not stand on a command line. enhanced: before the URL
// says that the target takes the codecs of enhanced RTMP, such as HEVC and AV1; others
// get them when they say so themselves. The error does not show the address.
func ParseTarget(text string, getenv func(string) string) (*Target, error) {
	pattern, address, _ := strings.Cut(text, "=")
	return NewTarget(pattern, address, getenv)
}

// TakesEnhanced says that t takes enhanced RTMP, as enhanced: does. Call it before the
// target is used.
func (t *Target) TakesEnhanced() { t.enhanced = true }

// quoted is s for an error's text: of one that is long, the beginning. What is escaped
// counts as long as it is shown.
func quoted(s string) string {
	const most = 60
	q := strconv.Quote(s[:min(len(s), most)])
	if len(s) <= most && len(q) <= most {
		return q
	}
	return q[:min(len(q), most)] + "..."
}

// NewTarget is ParseTarget with the two parts by themselves.
func NewTarget(streams, address string, getenv func(string) string) (*Target, error) {
	bad := func(why string) (*Target, error) {
		return nil, fmt.Errorf("%w: for %s %s", ErrTarget, quoted(streams), why)
	}
	names, err := pattern.Parse(streams)
	if err != nil {
		return bad("is not a pattern of names such as live/cam1, with one * at most")
	}
	if address == "" {
		return bad("there is no address")
	}
	address, enhanced := strings.CutPrefix(address, enhancedMark)
	missing := ""
	address = variable.ReplaceAllStringFunc(address, func(v string) string {
		value := getenv(v[2 : len(v)-1])
		if value == "" {
			missing = v
		}
		return value
	})
	if missing != "" {
		return bad("the environment does not have " + missing)
	}
	u, err := url.Parse(address)
	if err != nil {
		return bad("the address is no URL")
	}
	if u.Scheme == "srt" {
		to, err := srtconn.ParseAddress(u)
		switch {
		case err != nil:
			return bad("the address is one " + err.Error())
		case enhanced:
			return bad("enhanced: is said of RTMP only")
		}
		return &Target{streams: names, scheme: "srt", host: to.Host, srt: to, key: to.StreamID, address: address}, nil
	}
	port, ok := map[string]string{"rtmp": "1935", "rtmps": "443"}[u.Scheme]
	path := strings.Trim(u.Path, "/")
	slash := strings.LastIndexByte(path, '/')
	switch {
	case !ok || u.Hostname() == "" || u.User != nil:
		return bad("the address is not rtmp://, rtmps:// or srt:// with a host")
	case slash <= 0:
		return bad("the address has no application and name")
	case strings.Contains(address, "#"):
		return bad("the address has a fragment: # is written %23")
	}
	if u.Port() != "" {
		port = u.Port()
	}
	if !srtconn.PortFits(port) {
		return bad("the port is not a number from 1 to 65535")
	}
	t := &Target{streams: names, enhanced: enhanced, scheme: u.Scheme, host: net.JoinHostPort(u.Hostname(), port), name: u.Hostname(), app: path[:slash], key: path[slash+1:], address: address}
	if u.RawQuery != "" {
		t.key += "?" + u.RawQuery
	}
	return t, nil
}

// String returns the address without the name, which may be a key, and of SRT without the
// query.
func (t *Target) String() string {
	if t.srt != nil {
		return t.scheme + "://" + t.host
	}
	return t.scheme + "://" + t.host + "/" + t.app + "/..."
}

// secrets are the parts of the address that no text shows. name is the stream's there.
func (t *Target) secrets(name string) []string {
	if t.srt != nil {
		return []string{name, t.srt.Passphrase}
	}
	key, query, _ := strings.Cut(name, "?")
	return []string{name, key, query}
}

// tcURL is the address that RTMP's connect names.
func (t *Target) tcURL() string { return t.scheme + "://" + t.host + "/" + t.app }

// sum is the same for targets that are the same, in any process.
func (t *Target) sum() []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %v", t.streams.String(), t.address, t.enhanced))
	return sum[:]
}
