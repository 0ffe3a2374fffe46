package session

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/pattern"
)

func TestPlayOptions(t *testing.T) {
	for _, c := range []struct {
		query string
		want  PlayOptions
		says  string // of the error
	}{
		{"", PlayOptions{Merge: -1}, ""},
		{"token=x&other=y", PlayOptions{Merge: -1}, ""},
		{"merge=0", PlayOptions{Merge: 0}, ""},
		{"merge=350", PlayOptions{Merge: 350 * time.Millisecond}, ""},
		{"merge=351", PlayOptions{}, "0 to 350"},
		{"merge=-1", PlayOptions{}, "0 to 350"},
		{"merge=1.5", PlayOptions{}, "0 to 350"},
		{"merge=99999999999999999999", PlayOptions{}, "0 to 350"},
		{"gop=1", PlayOptions{Merge: -1}, ""},
		{"gop=0", PlayOptions{Merge: -1, NoGOP: true}, ""},
		{"gop=no", PlayOptions{}, "gop=no"},
		{"wait=5", PlayOptions{Merge: -1, Wait: 5 * time.Second}, ""},
		{"wait=0.5", PlayOptions{Merge: -1, Wait: time.Second / 2}, ""},
		{"wait=60", PlayOptions{Merge: -1, Wait: time.Minute}, ""},
		{"wait=60.1", PlayOptions{}, "0 to 60"},
		{"wait=-1", PlayOptions{}, "0 to 60"},
		{"wait=nan", PlayOptions{}, "wait=nan"},
		{"wait=inf", PlayOptions{}, "wait=inf"},
		{"wait=1e9", PlayOptions{}, "wait=1e9"},
		{"wait=%0d%0aEvil: 1", PlayOptions{}, `wait=\r\nEvil: 1`},
		{"wait=" + strings.Repeat("9", 1000), PlayOptions{}, "wait=99999999999999999999 is"},
		{"merge=20&gop=0&wait=1", PlayOptions{Merge: 20 * time.Millisecond, NoGOP: true, Wait: time.Second}, ""},
	} {
		q, err := url.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParsePlayOptions(q)
		if c.says != "" {
			if !errors.Is(err, ErrBadRequest) || !strings.Contains(err.Error(), c.says) {
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
		{"live", strings.Repeat("x", pattern.MaxName-5), "live/" + strings.Repeat("x", pattern.MaxName-5)},
		{"live", strings.Repeat("x", pattern.MaxName-4), ""},
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
		got, err := StreamName(c.app, c.name)
		if got != c.want || (err == nil) != (c.want != "") || err != nil && !errors.Is(err, ErrBadRequest) {
			t.Errorf("%q, %q: %q, %v", c.app, c.name, got, err)
		}
	}
	// What is wrong is said as it was given.
	if _, err := StreamName("live", ""); err == nil || !strings.Contains(err.Error(), `"live" is not of the form APP/NAME`) {
		t.Error(err)
	}
}
