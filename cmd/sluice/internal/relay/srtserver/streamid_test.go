package srtserver

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

func TestStreamIDs(t *testing.T) {
	for id, want := range map[string]struct {
		stream, token string
		role          session.Role
	}{
		"#!::r=live/s,m=publish":                  {"live/s", "", session.RolePublisher},
		"#!::m=request,r=live/s,s=a.b.c":          {"live/s", "a.b.c", session.RoleViewer},
		"#!::r=/live/a/b,u=me,token=x=y,t=stream": {"live/a/b", "x=y", session.RoleViewer},
		"#!::r=live/s?token=abc,m=publish":        {"live/s", "abc", session.RolePublisher},
		"%23!::r=live/s,m=publish":                {"live/s", "", session.RolePublisher}, // srt-live-transmit does not decode its address
		"%23!::r%3Dlive%2Fs%2Cm%3Drequest":        {"live/s", "", session.RoleViewer},
		"live/s":                                  {"live/s", "", session.RoleViewer},
		"read:live/s%3Ftoken%3DTOKEN":             {"live/s", "TOKEN", session.RoleViewer}, // nor does ffmpeg 5
		"publish%3Alive%2Fs%3Ftoken%3Da%252Bb":    {"live/s", "a+b", session.RolePublisher},
		"read:live%2F%E6%97%A5?token=a%2Bb":       {"live/日", "a+b", session.RoleViewer},
		"#!::m=publish,r=live/%E6%97%A5,s=x%y":    {"live/日", "x%y", session.RolePublisher},
		"read:live/s?token=a%2Bb":                 {"live/s", "a+b", session.RoleViewer},
		"publish:live/日本":                         {"live/日本", "", session.RolePublisher},
	} {
		r, err := parseStreamID(id)
		if err != nil || r.stream != want.stream || r.role != want.role || r.query.Get("token") != want.token {
			t.Errorf("%q is %+v, %v", id, r, err)
		}
	}
	for _, id := range []string{
		"", "s", "#!::", "#!::r=s", "#!::m=publish", "#!::r=live/s,m=bidirectional", "#!::r=live/s,m=", "#!::r=live/s,t=file", "#!::r=live/s,", "#!:{r=live/s}", "publish:", "read:live/../x",
		"live/s?%zz", "live/%zz", "#!::r=live/%zz", "live/a%20b", "%23!::r=live/s,s=%zz", "live/\x00", "live/.s", "api/streams", strings.Repeat("x", 600) + "/s",
	} {
		if r, err := parseStreamID(id); !errors.Is(err, session.ErrBadRequest) {
			t.Errorf("%q is %+v, %v", id, r, err)
		}
	}
}

func FuzzStreamID(f *testing.F) {
	f.Add("#!::r=live/s,m=publish,u=a,s=b")
	f.Add("publish:live/s?token=x")
	f.Fuzz(func(t *testing.T, id string) {
		r, err := parseStreamID(id)
		if err != nil {
			if !errors.Is(err, session.ErrBadRequest) {
				t.Error(err)
			}
			return
		}
		app, name, _ := strings.Cut(r.stream, "/")
		if again, err := session.StreamName(app, name); err != nil || again != r.stream {
			t.Errorf("%q is %q: %v", id, r.stream, err)
		}
	})
}
