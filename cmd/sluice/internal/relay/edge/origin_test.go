package edge

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestParseOrigin(t *testing.T) {
	for _, c := range []struct {
		address         string
		text            string
		url             string // of live/s, for HTTP
		app, tcURL, key string // for RTMP
		secure          bool
	}{
		{address: "rtmp://host/app", text: "rtmp://host:1935/app", app: "app", tcURL: "rtmp://host:1935/app", key: "s?merge=0"},
		{address: "rtmp://host", text: "rtmp://host:1935", app: "live", tcURL: "rtmp://host:1935/live", key: "s?merge=0"},
		{address: "rtmps://host:1/a/b/?token=x&n=1", text: "rtmps://host:1/a/b", app: "a/b", tcURL: "rtmps://host:1/a/b", key: "s?merge=0&n=1&token=x", secure: true},
		{address: "http://host?merge=95", text: "http://host:80", url: "http://host:80/live/s.flv?merge=95"},
		{address: "http://[::1]:80/", text: "http://[::1]:80", url: "http://[::1]:80/live/s.flv?merge=0"},
		{address: "https://host/pre/fix?token=a%26b", text: "https://host:443/pre/fix", url: "https://host:443/pre/fix/live/s.flv?merge=0&token=a%26b", secure: true},
	} {
		o, err := ParseOrigin(c.address)
		if err != nil {
			t.Errorf("%s: %v", c.address, err)
			continue
		}
		if o.String() != c.text || o.Secure() != c.secure || o.HTTP() != (c.url != "") {
			t.Errorf("%s: %v, secure %v, HTTP %v", c.address, o, o.Secure(), o.HTTP())
		}
		if c.url != "" {
			if got := o.streamURL("live/s"); got != c.url {
				t.Errorf("%s: the stream is at %s, want %s", c.address, got, c.url)
			}
			continue
		}
		if app, tcURL, key := o.rtmpNames("live/s"); app != c.app || tcURL != c.tcURL || key != c.key {
			t.Errorf("%s: the stream is %s, %s, %s", c.address, app, tcURL, key)
		}
	}
	for _, address := range []string{"", "host", "ftp://host/", "rtmp:///app", "http://", "http://user:secret@host/", "http://host/?a=%zz", "http://ho st/", "rtmp://host:x/"} {
		_, err := ParseOrigin(address)
		if !errors.Is(err, ErrOrigin) {
			t.Errorf("%q: %v", address, err)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error has the secret in it: %v", address, err)
		}
	}
}

func TestNamesAreEscapedInAddresses(t *testing.T) {
	o, err := ParseOrigin("http://host/p")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := o.streamURL("live/a b?c#d%/é"), "http://host:80/p/live/a%20b%3Fc%23d%25/%C3%A9.flv?merge=0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestPathsAreReadBack(t *testing.T) {
	var p Path
	for range maxHops {
		p = append(p, NewID())
		for way, got := range map[string]Path{
			"header":   PathOfHeader([]string{p.Header(ViaHTTP)}),
			"headers":  PathOfHeader([]string{"1.1 proxy.example", "HTTP/1.1 other (comment), " + p.Header(ViaHTTP)}),
			"flashVer": PathOfFlashVer(p.FlashVer("sluice")),
		} {
			if strings.Join(got, " ") != strings.Join(p, " ") {
				t.Errorf("%s: %v came back as %v", way, p, got)
			}
		}
		if p.admits(p[0]) || p.admits(p[len(p)-1]) {
			t.Errorf("%v admits one that is on it", p)
		}
		if got := p.admits(NewID()); got != (len(p) < maxHops) {
			t.Errorf("a path of %d admits another: %v", len(p), got)
		}
	}
	if !(Path)(nil).admits(NewID()) {
		t.Error("the empty path admits nobody")
	}
}

func TestHostilePathsStaySmall(t *testing.T) {
	many := strings.Repeat("1.1 "+NewID()+", ", 10_000)
	long := "1.1 " + idPrefix + strings.Repeat("x", 1<<20)
	for _, values := range [][]string{{many}, {long}, {"", ",,,", "1.1", " , a"}, {many, many}} {
		if p := PathOfHeader(values); len(p) > maxHops+1 || len(strings.Join(p, "")) > (maxHops+1)*maxID {
			t.Errorf("a path of %d", len(p))
		}
	}
	if p := PathOfHeader([]string{many}); p.admits(NewID()) {
		t.Error("an endless path admits another")
	}
	for _, v := range []string{"", "LNX 9,0,124,2", "sluice (via ", "sluice (via a b c)", player + viaIn + strings.Repeat(NewID()+" ", 10_000)} {
		if p := PathOfFlashVer(v); len(p) > maxHops+1 {
			t.Errorf("a path of %d", len(p))
		}
	}
}

func TestBackoffGrowsToItsLimit(t *testing.T) {
	b := backoff{first: 100 * time.Millisecond, most: time.Second}
	for _, step := range []time.Duration{100, 200, 400, 800, 1000, 1000} {
		step *= time.Millisecond
		if got := b.wait(); got < step/2 || got > step {
			t.Errorf("waits %v where %v to %v is right", got, step/2, step)
		}
	}
	b.reset()
	if got := b.wait(); got > 100*time.Millisecond {
		t.Errorf("waits %v after reset", got)
	}
}
