package evidence

import (
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

// answerIn is how long a server may take beside the time that it was asked to
// measure.
const answerIn = 20 * time.Second

// unixPrefix begins the address of a server on a Unix socket.
const unixPrefix = "unix:"

// CheckURL returns an error for an address that Gather cannot take. It sends no request.
func CheckURL(address string) error {
	_, err := pprofURL(address)
	return err
}

// pprofURL is the address of /debug/pprof, without a slash at its end.
func pprofURL(address string) (*url.URL, error) {
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
	u, err := pprofURL(address)
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

func (s *server) profile(ctx context.Context, name string, d time.Duration) (p *profile.Profile, err error) {
	err = s.get(ctx, name, d, func(body io.Reader) error {
		p, err = readPprof(body)
		return err
	})
	return p, err
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
