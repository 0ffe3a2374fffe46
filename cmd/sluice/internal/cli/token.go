package cli

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/pattern"
)

const tokenText = `token prints a token that allows one action on one stream until it expires, and
the addresses with it that sluice serve takes. The stream is named as in
addresses, APP/NAME.

The secret is the server's: the environment variable ` + access.SecretEnv + `, or
the first line of the file of --secret-file. It has at least 16 bytes; openssl
rand -hex 32 prints a good one.

The token gives the right to every client that has it, until it expires or is revoked:
by its id among the settings of the server (revoked-tokens), or for a time by a ban
(POST /api/bans?by=token&value=ID&for=TIME).

Exit codes: 0 printed; 1 it could not be printed; 2 wrong command line, or no
secret.`

// mostExpiry limits --expires, so that a typing error cannot make a token that
// practically never expires.
const mostExpiry = 10 * 365 * 24 * time.Hour

// tokenFlags are the flags as given.
type tokenFlags struct {
	publish, play      bool
	expires            time.Duration
	id                 string
	host               string
	rtmpPort, httpPort port
	secretFile         string
	json               bool
}

func (a App) token() *cobra.Command {
	f := tokenFlags{rtmpPort: 1935, httpPort: 8080}
	cmd := &cobra.Command{
		Use:     "token {--publish | --play} stream",
		Short:   "Make a token to publish or play a stream of serve",
		Long:    tokenText,
		Example: "  sluice token --publish live/cam1 --expires 24h --host media.example.org",
		RunE: func(_ *cobra.Command, args []string) error {
			return a.runToken(f, args, time.Now())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&f.publish, "publish", false, "to publish")
	flags.BoolVar(&f.play, "play", false, "to play")
	flags.DurationVar(&f.expires, "expires", 24*time.Hour, "how long it holds, at least 1s")
	bound(flags, "expires", &f.expires, time.Second, mostExpiry)
	flags.StringVar(&f.id, "id", "", "`name` by which it can be revoked; a random one unless given")
	flags.StringVar(&f.host, "host", "localhost", "the server's `name` or address in the addresses printed")
	flags.Var(&f.rtmpPort, "rtmp-port", "its `port` for RTMP")
	flags.Var(&f.httpPort, "http-port", "its `port` for HTTP")
	flags.StringVar(&f.secretFile, "secret-file", "", "take the secret from this `file` instead of the environment")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

// check validates the flags and arguments together.
func (f *tokenFlags) check(args []string) (action access.Action, stream string, err error) {
	if len(args) != 1 {
		return "", "", fmt.Errorf("token: want one stream, such as live/cam1, got %q", args)
	}
	if f.publish == f.play {
		return "", "", errors.New("token: exactly one of --publish and --play is needed")
	}
	action = access.Play
	if f.publish {
		action = access.Publish
	}
	if f.id == "" {
		f.id = strings.ToLower(rand.Text()[:10])
	}
	if err := access.CheckID(f.id); err != nil {
		return "", "", fmt.Errorf("token: --id: %s", strings.TrimPrefix(err.Error(), "access: "))
	}
	if f.host == "" || strings.ContainsAny(f.host, "/?#@ ") {
		return "", "", fmt.Errorf("token: --host %q is neither a name nor an address", f.host)
	}
	if _, err := netip.ParseAddr(f.host); strings.Contains(f.host, ":") && err != nil {
		return "", "", fmt.Errorf("token: --host %q: ports are for --rtmp-port and --http-port", f.host)
	}
	return action, args[0], checkStream(args[0])
}

// checkStream refuses a name that no stream can have, above all one that was copied
// from a URL with extra parts: a token for it would never match.
func checkStream(name string) error {
	why := pattern.NameFault(name)
	switch {
	case strings.ContainsAny(name, "?#"):
		why = "has to be without what begins with ? or #"
	case strings.HasSuffix(name, ".flv"):
		why = "has to be without .flv, which only HTTP addresses have"
	}
	if why != "" {
		return fmt.Errorf("token: stream name %.60q %s", name, why)
	}
	return nil
}

// tokenSecret returns the secret from the file, or from the environment when
// there is no file.
func tokenSecret(file string) (secret []byte, err error) {
	if file == "" {
		text := os.Getenv(access.SecretEnv)
		if text == "" {
			return nil, fmt.Errorf("token: the environment has no %s, and there is no --secret-file", access.SecretEnv)
		}
		secret = []byte(text)
	} else {
		const most = 4 << 10
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("token: --secret-file: %w", err)
		}
		defer func() { _ = f.Close() }()
		text, err := io.ReadAll(io.LimitReader(f, most+1))
		if err != nil {
			return nil, fmt.Errorf("token: --secret-file: %w", err)
		}
		if len(text) > most {
			return nil, fmt.Errorf("token: --secret-file: %s is longer than %d bytes", file, most)
		}
		secret, _, _ = bytes.Cut(text, []byte{'\n'})
		secret = bytes.TrimSuffix(secret, []byte{'\r'})
	}
	if err := access.CheckSecret(secret); err != nil {
		return nil, fmt.Errorf("token: %s", strings.TrimPrefix(err.Error(), "access: "))
	}
	return secret, nil
}

// signed is a token with what it allows.
type signed struct {
	Token   string        `json:"token"`
	ID      string        `json:"id"`
	Action  access.Action `json:"action"`
	Stream  string        `json:"stream"`
	Expires time.Time     `json:"expires"`
	URLs    signedURLs    `json:"urls"`
	// OBS holds the two fields of OBS; only for publishing.
	OBS *obsFields `json:"obs,omitempty"`
}

// signedURLs are the addresses that carry the token. Publishing over HTTP is POST
// to the same URL that players GET.
type signedURLs struct {
	RTMP      string `json:"rtmp"`
	HTTP      string `json:"http"`
	WebSocket string `json:"ws,omitempty"`
}

type obsFields struct {
	Server string `json:"server"`
	Key    string `json:"key"`
}

func (f *tokenFlags) sign(secret []byte, action access.Action, stream string, now time.Time) signed {
	until := now.Add(f.expires).Truncate(time.Second).UTC()
	token := access.SignID(secret, action, stream, f.id, until)
	address := func(scheme string, at, usual port, path string) string {
		host := f.host
		if at != usual {
			host = net.JoinHostPort(host, at.String())
		} else if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		if scheme == "rtmp" {
			// RTMP clients send the name as it is written. A zone of IPv6 is escaped (RFC 6874).
			return "rtmp://" + strings.ReplaceAll(host, "%", "%25") + "/" + path
		}
		u := url.URL{Scheme: scheme, Host: host, Path: "/" + path}
		return u.String()
	}
	query := "?token=" + token
	s := signed{Token: token, ID: f.id, Action: action, Stream: stream, Expires: until}
	s.URLs.RTMP = address("rtmp", f.rtmpPort, 1935, stream) + query
	s.URLs.HTTP = address("http", f.httpPort, 80, stream+".flv") + query
	if action == access.Play {
		s.URLs.WebSocket = address("ws", f.httpPort, 80, stream+".flv") + query
		return s
	}
	// A server's app may have several parts: OBS sends all but the last.
	at := strings.LastIndexByte(stream, '/')
	s.OBS = &obsFields{Server: address("rtmp", f.rtmpPort, 1935, stream[:at]), Key: stream[at+1:] + query}
	return s
}

func (a App) runToken(f tokenFlags, args []string, now time.Time) error {
	action, stream, err := f.check(args)
	if err != nil {
		return err
	}
	secret, err := tokenSecret(f.secretFile)
	if err != nil {
		return err
	}
	s := f.sign(secret, action, stream, now)
	if f.json {
		encoder := json.NewEncoder(a.Stdout)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(s); err != nil {
			return fail(err)
		}
		return nil
	}
	lines := fmt.Sprintf("token    %s\nid       %s\nexpires  %s\nrtmp     %s\n", s.Token, s.ID, s.Expires.Format(time.RFC3339), s.URLs.RTMP)
	if s.OBS != nil {
		lines += fmt.Sprintf("obs      server %s  key %s\nhttp     %s  (POST or PUT)\n", s.OBS.Server, s.OBS.Key, s.URLs.HTTP)
	} else {
		lines += fmt.Sprintf("http     %s\nws       %s\n", s.URLs.HTTP, s.URLs.WebSocket)
	}
	if _, err := io.WriteString(a.Stdout, lines); err != nil {
		return fail(err)
	}
	return nil
}
