package relay

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestPlayOptions(t *testing.T) {
	for _, c := range []struct {
		query string
		want  playOptions
		says  string // of the error
	}{
		{"", playOptions{Merge: -1}, ""},
		{"token=x&other=y", playOptions{Merge: -1}, ""},
		{"merge=0", playOptions{Merge: 0}, ""},
		{"merge=350", playOptions{Merge: 350 * time.Millisecond}, ""},
		{"merge=351", playOptions{}, "0 to 350"},
		{"merge=-1", playOptions{}, "0 to 350"},
		{"merge=1.5", playOptions{}, "0 to 350"},
		{"merge=99999999999999999999", playOptions{}, "0 to 350"},
		{"gop=1", playOptions{Merge: -1}, ""},
		{"gop=0", playOptions{Merge: -1, NoGOP: true}, ""},
		{"gop=no", playOptions{}, "gop=no"},
		{"wait=5", playOptions{Merge: -1, Wait: 5 * time.Second}, ""},
		{"wait=0.5", playOptions{Merge: -1, Wait: time.Second / 2}, ""},
		{"wait=60", playOptions{Merge: -1, Wait: time.Minute}, ""},
		{"wait=60.1", playOptions{}, "0 to 60"},
		{"wait=-1", playOptions{}, "0 to 60"},
		{"wait=nan", playOptions{}, "wait=nan"},
		{"wait=inf", playOptions{}, "wait=inf"},
		{"wait=1e9", playOptions{}, "wait=1e9"},
		{"wait=%0d%0aEvil: 1", playOptions{}, `wait=\r\nEvil: 1`},
		{"wait=" + strings.Repeat("9", 1000), playOptions{}, "wait=99999999999999999999 is"},
		{"merge=20&gop=0&wait=1", playOptions{Merge: 20 * time.Millisecond, NoGOP: true, Wait: time.Second}, ""},
	} {
		q, err := url.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parsePlayOptions(q)
		if c.says != "" {
			if !errors.Is(err, errBadRequest) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q: %v, want %q", c.query, err, c.says)
			}
			continue
		}
		got.asked = time.Time{}
		if err != nil || got != c.want {
			t.Errorf("%q: %+v, %v", c.query, got, err)
		}
	}
}

func TestStreamNames(t *testing.T) {
	for _, c := range []struct{ app, name, want string }{
		{"live", "s", "live/s"},
		{"/live/", "s", "live/s"},
		{"live/a", "b/c", "live/a/b/c"},
		{"live", "caméra 1 – Straße", ""},
		{"live", "Straße", "live/Straße"},
		{"live", "a-b_c.d+e=f&g@h", "live/a-b_c.d+e=f&g@h"},
		{"live", strings.Repeat("x", maxName-5), "live/" + strings.Repeat("x", maxName-5)},
		{"live", strings.Repeat("x", maxName-4), ""},
		{"", "s", ""},
		{"live", "", ""},
		{"live", "a//b", ""},
		{"live", "..", ""},
		{"..", "s", ""},
		{"live", "a/.b", ""},
		{"live", "a\x00b", ""},
		{"live", "a\nb", ""},
		{"live", "a\u202eb", ""},
		{"live", "\xff", ""},
		{"live", `a\b`, ""},
		{"live", "a?b", ""},
		{"live", "a#b", ""},
		{"live", "a%2fb", ""},
		{"live", "<b>", ""},
		{"api", "streams", ""},
		{"assets", "x", ""},
		{"apiary", "x", "apiary/x"},
	} {
		got, err := streamName(c.app, c.name)
		if got != c.want || (err == nil) != (c.want != "") || err != nil && !errors.Is(err, errBadRequest) {
			t.Errorf("%q, %q: %q, %v", c.app, c.name, got, err)
		}
	}
}
