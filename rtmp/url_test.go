package rtmp

import (
	"errors"
	"strings"
	"testing"
)

func TestParseURL(t *testing.T) {
	for _, c := range []struct {
		in, scheme, host, app, stream, name, whole string
	}{
		{"rtmp://h/live/s", "rtmp", "h:1935", "live", "s", "s", "rtmp://h:1935/live/s"},
		{"rtmps://h/live/s", "rtmps", "h:443", "live", "s", "s", "rtmps://h:443/live/s"},
		{"RTMP://h:99/live/s", "rtmp", "h:99", "live", "s", "s", "rtmp://h:99/live/s"},
		{"rtmp://h/a/b/s", "rtmp", "h:1935", "a/b", "s", "s", "rtmp://h:1935/a/b/s"},
		{"rtmp://h//live//s/", "rtmp", "h:1935", "live", "s", "s", "rtmp://h:1935/live/s"},
		{"rtmp://[::1]/live/s", "rtmp", "[::1]:1935", "live", "s", "s", "rtmp://[::1]:1935/live/s"},
		{"rtmp://[::1]:5/live/s", "rtmp", "[::1]:5", "live", "s", "s", "rtmp://[::1]:5/live/s"},
		{"rtmp://h/live/s?token=1.ab&wait=5", "rtmp", "h:1935", "live", "s", "s?token=1.ab&wait=5", "rtmp://h:1935/live/s?token=1.ab&wait=5"},
	} {
		u, err := ParseURL(c.in)
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if u.Scheme != c.scheme || u.Host != c.host || u.App != c.app || u.Stream != c.stream || u.Name() != c.name || u.String() != c.whole {
			t.Errorf("%s: %+v, name %q, whole %q", c.in, u, u.Name(), u)
		}
		if want := strings.TrimSuffix(c.whole, "/"+c.name); u.TCURL() != want {
			t.Errorf("%s: tcUrl %q, want %q", c.in, u.TCURL(), want)
		}
		if strings.Contains(c.in, "token") && u.Query.Get("token") != "1.ab" {
			t.Errorf("%s: query %v", c.in, u.Query)
		}
	}
	for _, in := range []string{
		"", "rtmp", "http://h/live/s", "rtmp://h", "rtmp://h/", "rtmp://h/s", "rtmp:///live/s", "rtmp://u:secret@h/live/s",
		"rtmp://h:port/secret/s", "rtmp://h/%zz/secret", "rtmp://h/live/s#secret", "rtmp://h/live/s?key=a#secret", "rtmp://h/live/s#", "rtmp://::1/secret/s", "rtmp://h:65536/secret/s",
	} {
		_, err := ParseURL(in)
		if !errors.Is(err, ErrURL) {
			t.Errorf("%q: %v", in, err)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error repeats it: %v", in, err)
		}
	}
}

// What is escaped in an address is part of a name, and the address that is made
// of it can be read again.
func TestEscapedNames(t *testing.T) {
	for in, want := range map[string]URL{
		"rtmp://h/live/a%2Fb":         {App: "live", Stream: "a/b"},
		"rtmp://h/my%20app/100%25":    {App: "my app", Stream: "100%"},
		"rtmp://h/live/a%3Fb":         {App: "live", Stream: "a?b"},
		"rtmp://h/live/a%23b?token=1": {App: "live", Stream: "a#b"},
		"rtmp://h/live/a,b:c;d=e":     {App: "live", Stream: "a,b:c;d=e"},
	} {
		u, err := ParseURL(in)
		if err != nil || u.App != want.App || u.Stream != want.Stream {
			t.Errorf("%s: application %q, stream %q, %v", in, u.App, u.Stream, err)
			continue
		}
		again, err := ParseURL(u.String())
		if err != nil || again.App != u.App || again.Stream != u.Stream || again.Name() != u.Name() {
			t.Errorf("%s: %s is application %q, stream %q, %v", in, u, again.App, again.Stream, err)
		}
	}
}
