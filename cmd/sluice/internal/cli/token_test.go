package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
)

const tokenTestSecret = "a secret of the tests, long enough"

// tokenRun runs the command in this process.
func tokenRun(t *testing.T, args ...string) (stdout, stderr string, exit int) {
	t.Helper()
	var out, errs bytes.Buffer
	exit = App{Stdout: &out, Stderr: &errs}.Main(append([]string{"token"}, args...))
	return out.String(), errs.String(), exit
}

// tokenHolds checks that a URL carries a token that allows the action now, and no
// longer than configured.
func tokenHolds(t *testing.T, address string, action access.Action, stream string, expires time.Duration, began time.Time) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Error(err)
		return
	}
	token := u.Query().Get("token")
	if err := access.Verify([]byte(tokenTestSecret), action, stream, token, began.Add(expires-time.Second)); err != nil {
		t.Errorf("%s: %v", address, err)
	}
	if err := access.Verify([]byte(tokenTestSecret), action, stream, token, time.Now().Add(expires)); !errors.Is(err, access.ErrTokenExpired) {
		t.Errorf("%s: afterwards: %v", address, err)
	}
}

func TestTokenPrintsAddressesThatHold(t *testing.T) {
	t.Setenv(access.SecretEnv, tokenTestSecret)
	began := time.Now()
	out, errs, exit := tokenRun(t, "--publish", "live/cam1", "--expires", "2h", "--host", "media.example.org")
	if exit != 0 || errs != "" {
		t.Fatalf("exit code %d, %s", exit, errs)
	}
	words := strings.Fields(out)
	var urls []string
	for _, w := range words {
		if strings.Contains(w, "://") && strings.Contains(w, "?") {
			urls = append(urls, w)
			tokenHolds(t, w, access.Publish, "live/cam1", 2*time.Hour, began)
		}
	}
	if len(urls) != 2 || !strings.HasPrefix(urls[0], "rtmp://media.example.org/live/cam1?token=") ||
		!strings.HasPrefix(urls[1], "http://media.example.org:8080/live/cam1.flv?token=") {
		t.Errorf("addresses %q", urls)
	}
	if !strings.Contains(out, "server rtmp://media.example.org/live  key cam1?token=") {
		t.Errorf("nothing for OBS:\n%s", out)
	}
	if strings.Contains(out, tokenTestSecret) {
		t.Error("it prints the secret")
	}
}

func TestTokenAsJSON(t *testing.T) {
	t.Setenv(access.SecretEnv, "")
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(tokenTestSecret+"\r\n# a second line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	out, errs, exit := tokenRun(t, "--json", "--play", "--secret-file", file, "--host", "2001:db8::1", "--rtmp-port", "1936", "--http-port", "80", "a/b/Ümläut")
	if exit != 0 || errs != "" || strings.Count(out, "\n") != 1 {
		t.Fatalf("exit code %d, %s, %q", exit, errs, out)
	}
	var s signed
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatal(err)
	}
	if s.Action != access.Play || s.Stream != "a/b/Ümläut" || s.OBS != nil || s.Expires.Sub(began) < 24*time.Hour-2*time.Second || s.Expires.Nanosecond() != 0 {
		t.Errorf("got %+v", s)
	}
	for _, c := range []struct{ got, want string }{
		{s.URLs.RTMP, "rtmp://[2001:db8::1]:1936/a/b/Ümläut?token=" + s.Token},
		{s.URLs.HTTP, "http://[2001:db8::1]/a/b/%C3%9Cml%C3%A4ut.flv?token=" + s.Token},
		{s.URLs.WebSocket, "ws://[2001:db8::1]/a/b/%C3%9Cml%C3%A4ut.flv?token=" + s.Token},
	} {
		if c.got != c.want {
			t.Errorf("got  %s\nwant %s", c.got, c.want)
		}
		tokenHolds(t, c.got, access.Play, s.Stream, 24*time.Hour, began)
	}
}

// The zone of an address is escaped in each form (RFC 6874).
func TestTokenForAnAddressWithAZone(t *testing.T) {
	f := tokenFlags{host: "fe80::1%eth0", id: "cam", rtmpPort: 1935, httpPort: 8080, expires: time.Hour}
	s := f.sign([]byte(tokenTestSecret), access.Publish, "live/s", time.Unix(1, 0))
	for text, want := range map[string]string{s.URLs.RTMP: "rtmp://[fe80::1%25eth0]/live/s?", s.URLs.HTTP: "http://[fe80::1%25eth0]:8080/live/s.flv?", s.OBS.Server + "/": "rtmp://[fe80::1%25eth0]/live/"} {
		if u, err := url.Parse(text); err != nil || u.Hostname() != f.host || !strings.HasPrefix(text, want) {
			t.Errorf("%s, %v, want %s", text, err, want)
		}
	}
}

func TestTokenRefusesWrongCommandLines(t *testing.T) {
	dir := t.TempDir()
	short, long := filepath.Join(dir, "short"), filepath.Join(dir, "long")
	for name, text := range map[string]string{short: "word\n", long: strings.Repeat("x", 5000)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ line, says string }{
		{"", "stream"},
		{"live/s", "--publish and --play"},
		{"--publish --play live/s", "--publish and --play"},
		{"--publish live/s live/t", "one stream"},
		{"--publish s", "APP/NAME"},
		{"--publish /live/s", "APP/NAME"},
		{"--publish live/", "APP/NAME"},
		{"--publish live//s", "APP/NAME"},
		{"--publish live/s?x=1", "?"},
		{"--publish live/s.flv", ".flv"},
		{"--publish live/\xff", "UTF-8"},
		{"--publish live/*", "characters"},
		{"--play live/../s", "dot"},
		{"--play api/s", "api/"},
		{"--play live/s --expires 0s", "1s to"},
		{"--play live/s --expires -1h", "--expires"},
		{"--play live/s --expires 30d", "30d"},
		{"--play live/s --expires 1000000h", "--expires"},
		{"--play live/s --host http://h", "--host"},
		{"--play live/s --host h:99", "--rtmp-port"},
		{"--play live/s --http-port 0", "1 to 65535"},
		{"--play live/s --http-port 70000", `"70000" for "--http-port" flag: it is no port, 1 to 65535`},
		{"--play live/s --rtmp-port x", `"x" for "--rtmp-port" flag: it is no port, 1 to 65535`},
		{"--play=x live/s", "neither true nor false"},
		{"--play live/s --secret-file " + filepath.Join(dir, "none"), "none"},
		{"--play live/s --secret-file " + short, "4 bytes"},
		{"--play live/s --secret-file " + long, "longer"},
	} {
		t.Setenv(access.SecretEnv, tokenTestSecret)
		out, errs, exit := tokenRun(t, strings.Fields(c.line)...)
		if exit != ExitUsage || out != "" || strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, "sluice: ") || !strings.Contains(errs, c.says) {
			t.Errorf("%q: exit code %d, %q, %q does not say %q", c.line, exit, out, errs, c.says)
		}
	}
	for _, secret := range []string{"", "short"} {
		t.Setenv(access.SecretEnv, secret)
		if _, errs, exit := tokenRun(t, "--play", "live/s"); exit != ExitUsage || !strings.Contains(errs, "secret") && !strings.Contains(errs, access.SecretEnv) {
			t.Errorf("secret %q: exit code %d, %q", secret, exit, errs)
		}
	}
}

func TestTokenThatCannotBePrintedFails(t *testing.T) {
	t.Setenv(access.SecretEnv, tokenTestSecret)
	for _, args := range [][]string{{"token", "--play", "live/s"}, {"token", "--json", "--play", "live/s"}} {
		var errs bytes.Buffer
		if exit := (App{Stdout: tokenFull{}, Stderr: &errs}).Main(args); exit != ExitFailure || !strings.Contains(errs.String(), "disk full") {
			t.Errorf("%v: exit code %d, %s", args, exit, errs.String())
		}
	}
}

type tokenFull struct{}

func (tokenFull) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestTokenHelpHasOneExample(t *testing.T) {
	out, _, exit := tokenRun(t, "--help")
	_, examples, _ := strings.Cut(out, "Examples:\n")
	examples, _, _ = strings.Cut(examples, "\n\n")
	if lines := strings.Split(strings.TrimSpace(examples), "\n"); exit != 0 || len(lines) != 1 || !strings.Contains(out, "Exit codes: 0") {
		t.Errorf("exit code %d, examples %q", exit, examples)
	}
}
