package evidence

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// maxPprof bounds what is taken from one profile. Of a server with a hundred
// thousand different stacks the profile has some 20 MiB before it is packed.
const maxPprof = 32 << 20

// readPprof reads a profile in the form of package runtime/pprof: a protocol
// buffer as in pprof's profile.proto, which gzip has packed or not.
func readPprof(r io.Reader) (*profile.Profile, error) {
	data, err := atMost(r, maxPprof)
	if err != nil {
		return nil, fmt.Errorf("reading a profile: %w", err)
	}
	if len(data) >= 2 && data[0] == 0x1f && data[1] == 0x8b {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("unpacking a profile: %w", err)
		}
		if data, err = atMost(z, maxPprof); err != nil {
			return nil, fmt.Errorf("unpacking a profile: %w", err)
		}
	}
	var p *profile.Profile
	err = guarded("profile", func() error {
		if p, err = profile.ParseUncompressed(data); err != nil {
			return err
		}
		return p.CheckValid()
	})
	if err != nil {
		return nil, fmt.Errorf("parsing a profile: %w", err)
	}
	return p, nil
}

// pprofOf are the values of a profile of the named type. What the taking of profiles costs is
// left out.
func pprofOf(p *profile.Profile, value, count, unit string) (*Profile, error) {
	v, err1 := p.SampleIndexByName(value)
	c, err2 := p.SampleIndexByName(count)
	if err := cmp.Or(err1, err2); err != nil {
		return nil, err
	}
	s := newStackSet()
	var frames []Frame
	for _, sample := range p.Sample {
		frames = frames[:0]
		for _, location := range sample.Location {
			frames = appendLocation(frames, location)
		}
		if !isMeasuring(frames) {
			s.add(frames, sample.Value[v], sample.Value[c])
		}
	}
	return s.profile(unit, keptStacks), nil
}

// appendLocation adds the calls at one address: several where functions were
// inlined, the innermost first.
func appendLocation(frames []Frame, location *profile.Location) []Frame {
	named := false
	for _, line := range location.Line {
		if line.Function == nil {
			continue
		}
		named = true
		frames = append(frames, Frame{Func: line.Function.Name, File: base(line.Function.Filename), Line: max(int(line.Line), 0)})
	}
	if !named {
		frames = append(frames, Frame{Func: fmt.Sprintf("%#x", location.Address)})
	}
	return frames
}

const (
	unitTime  = "ns"
	unitBytes = "B"
)

// takePprof puts a profile of any of the kinds that package runtime/pprof writes
// where it belongs. It returns the name of the tool.
func (e *Evidence) takePprof(p *profile.Profile, mutex bool) (tool string, err error) {
	if d := time.Duration(p.DurationNanos); d > 0 {
		e.Took = max(e.Took, d)
	}
	locks := &e.Block
	if mutex {
		locks = &e.Mutex
	}
	for _, kind := range []struct {
		tool, value, count, unit string
		to                       **Profile
	}{
		{ToolCPU, "cpu", "samples", unitTime, &e.CPU},
		{ToolAllocs, "alloc_space", "alloc_objects", unitBytes, &e.Space},
		{ToolLocks, "delay", "contentions", unitTime, locks},
	} {
		if _, err = p.SampleIndexByName(kind.value); err == nil {
			*kind.to, err = pprofOf(p, kind.value, kind.count, kind.unit)
			return kind.tool, err
		}
	}
	return "", fmt.Errorf("profiles of cpu, allocs or heap, mutex and block are read: %w", err)
}

// answerIn is how long a server may take beside the time that it was asked to
// measure.
const answerIn = 20 * time.Second

const unixPrefix = "unix:"

// ParseURL reads the address of a server that Gather looks at. It sends no request.
func ParseURL(address string) (*url.URL, error) {
	text := address
	if strings.HasPrefix(text, unixPrefix) {
		text = "http://unix"
	} else if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		// The text of this error may hold a password.
		return nil, errors.New("the URL of a server cannot be parsed")
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("%s is no address of a server: http://host:port/debug/pprof/ is", u.Redacted())
	}
	u.Path = strings.TrimRight(u.Path, "/")
	if !strings.HasSuffix(u.Path, "/debug/pprof") {
		u.Path += "/debug/pprof"
	}
	u.RawPath, u.Fragment = "", ""
	return u, nil
}

type server struct {
	client http.Client
	base   *url.URL
}

func newServer(address string) (*server, error) {
	u, err := ParseURL(address)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // what comes is packed already, and is unpacked with a bound
	transport.DisableKeepAlives = true
	if path, ok := strings.CutPrefix(address, unixPrefix); ok {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
	}
	return &server{http.Client{Transport: transport}, u}, nil
}

// get asks for a profile over a time, in whole seconds, and hands the body to read.
func (s *server) get(ctx context.Context, name string, d time.Duration, read func(io.Reader) error) error {
	whole := max(1, int(math.Ceil(d.Seconds())))
	ctx, cancel := context.WithTimeout(ctx, time.Duration(whole)*time.Second+answerIn)
	defer cancel()
	u := *s.base
	u.Path += "/" + name
	query := u.Query()
	query.Set("seconds", strconv.Itoa(whole))
	u.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return fmt.Errorf("asking for the profile %s: %w", name, err)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return err // it names the address, without the password
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(response.Body, 200))
		return fmt.Errorf("%s answers %s: %s", u.Redacted(), response.Status, strings.Join(strings.Fields(string(said)), " "))
	}
	return read(response.Body)
}
