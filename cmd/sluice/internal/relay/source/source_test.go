package source

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/srtconn"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text, stream, address, host string
		always                      bool
	}{
		{"live/cam=rtsp://camera/1", "live/cam", "rtsp://camera:554/1", "camera:554", false},
		{"live/a/b=always:rtsp://u:secret@camera:8554/1?token=secret", "live/a/b", "rtsp://camera:8554/1", "camera:8554", true},
		{"live/cam=rtsps://[2001:db8::1]/1", "live/cam", "rtsps://[2001:db8::1]:322/1", "[2001:db8::1]:322", false},
		{"live/x=srt://encoder:9000?streamid=%23!::r=live/s%2Cm=request&passphrase=the+secret+word&mode=caller&latency=500", "live/x", "srt://encoder:9000", "encoder:9000", false},
		{"live/x=always:srt://[2001:db8::1]:9000", "live/x", "srt://[2001:db8::1]:9000", "[2001:db8::1]:9000", true},
	} {
		s, err := Parse(c.text)
		if err != nil || s.Stream != c.stream || s.String() != c.address || s.host != c.host || s.Always != c.always {
			t.Errorf("%s: %+v, %v", c.text, s, err)
		}
	}
	for _, text := range []string{
		"", "live/cam", "live=rtsp://camera", "live/../x=rtsp://camera", "live/cam=http://u:secret@camera", "live/cam=rtsp:///x", "live/cam=rtsp://u:secret@%zz/",
		"live/x=srt://encoder", "live/x=srt://:9000", "live/x=srt://encoder:9000?passphrase=secret", "live/x=srt://encoder:9000?passphrase=%zzsecret", "live/x=srt://encoder:9000?streamid=#!::r=secret",
		"live/x=srt://encoder:9000?mode=listener", "live/x=srt://encoder:9000?latency=9000", "live/x=srt://encoder:9000?latency=secret", "live/x=srt://encoder:9000?unknown=secret",
		"live/x=srt://u:secret@encoder:9000", "live/x=srt://encoder:9000/secret", "live/x=srt://encoder:9000?mode=caller&mode=caller",
	} {
		if _, err := Parse(text); !errors.Is(err, ErrAddress) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := ParseAll([]string{"live/a=rtsp://c/1", "live/a=rtsp://c/2"}); !errors.Is(err, ErrAddress) {
		t.Errorf("two sources of one stream: %v", err)
	}
}

func TestParseOfSRT(t *testing.T) {
	s, err := Parse("live/x=srt://encoder:9000?streamid=%23!::r=live/s%2Cm=request&passphrase=the+secret+word&latency=500")
	if err != nil || s.Protocol() != session.SRT || *s.srt != (srtconn.Address{Host: "encoder:9000", StreamID: "#!::r=live/s,m=request", Passphrase: "the secret word", Latency: 500 * time.Millisecond}) {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestTrackURL(t *testing.T) {
	for _, c := range []struct{ base, control, want string }{
		{"rtsp://c/s/", "trackID=1", "rtsp://c/s/trackID=1"},
		{"rtsp://c/s", "trackID=1", "rtsp://c/s/trackID=1"},
		{"rtsp://c/s", "rtsp://c/other/1", "rtsp://c/other/1"},
		{"rtsp://c/s", "*", "rtsp://c/s"},
	} {
		if got := trackURL(c.base, c.control); got != c.want {
			t.Errorf("%s and %s: %s, want %s", c.base, c.control, got, c.want)
		}
	}
}

// The zone of an address is for this machine: requests do not name it.
func TestRequestsNameNoZone(t *testing.T) {
	for address, want := range map[string]string{"rtsp://u:p@[fe80::1%25eth0]:8554/a": "rtsp://[fe80::1]:8554/a", "rtsp://[fe80::1%25eth0]/a": "rtsp://[fe80::1]/a", "rtsp://a%25b/c": "rtsp://a%25b/c"} {
		s, err := Parse("live/s=" + address)
		if err != nil || s.address() != want || strings.Contains(address, "eth0") && !strings.Contains(s.host, "%eth0]:") {
			t.Errorf("%s: %+v, %v", address, s, err)
		}
	}
}

// User and password go along with a redirection only to the same host, and not from TLS to a connection in clear.
func TestWhatARedirectionMayHave(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"rtsp://u:p@cam/a", "/b", "rtsp://u:p@cam/b"},
		{"rtsp://u:p@cam/a", " rtsp://CAM:8554/b ", "rtsp://u:p@CAM:8554/b"},
		{"rtsp://u:p@cam/a", "rtsps://cam/b", "rtsps://u:p@cam/b"},
		{"rtsps://u:p@cam/a", "rtsps://cam/b", "rtsps://u:p@cam/b"},
		{"rtsps://u:p@cam/a", "rtsp://cam/b", "rtsp://cam/b"},
		{"rtsp://u:p@cam/a", "rtsp://other/b", "rtsp://other/b"},
		{"rtsp://u:p@cam/a", "rtsp://x:y@other/b", "rtsp://x:y@other/b"},
		{"rtsp://u:p@cam/a", "rtsp:///b", ""},
		{"rtsp://u:p@cam/a", "rtsp://:554/b", ""},
		{"rtsp://u:p@cam/a", "http://cam/b", ""},
		{"rtsp://u:p@cam/a", "rtsp://cam:99999/b", ""},
		{"rtsp://u:p@cam/a", "rtsp://x:swordfish@cam:b/", ""},
	} {
		s, err := Parse("live/s=" + c.from)
		if err != nil {
			t.Fatal(err)
		}
		next, err := s.redirected(c.to)
		switch {
		case c.want == "":
			if !errors.Is(err, ErrRefused) || strings.Contains(err.Error(), "swordfish") {
				t.Errorf("%s to %q: %v, %v", c.from, c.to, next, err)
			}
		case err != nil || next.url.String() != c.want || next.Stream != "live/s":
			t.Errorf("%s to %q: %v, %v", c.from, c.to, next, err)
		}
	}
}
