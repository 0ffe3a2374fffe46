package push

import (
	"errors"
	"strings"
	"testing"
)

func TestTargets(t *testing.T) {
	env := func(name string) string { return map[string]string{"KEY": "hunter2?a=b", "HOST": "h.example"}[name] }
	for _, c := range []struct{ text, stream, app, name, shown string }{
		{"live/s=rtmp://a.example/live/s", "live/s", "live", "s", "rtmp://a.example:1935/live/..."},
		{"live/*=rtmps://a.example/x/y/*?k=1", "live/cam/1", "x/y", "cam/1?k=1", "rtmps://a.example:443/x/y/..."},
		{"*=rtmp://${HOST}:99/app/${KEY}", "any/thing", "app", "hunter2?a=b", "rtmp://h.example:99/app/..."},
		{"live/*-hd=rtmp://[::1]/app/pre-*", "live/a-hd", "app", "pre-a", "rtmp://[::1]:1935/app/..."},
		{"live/s=enhanced:rtmp://a/b/c", "live/s", "b", "c", "rtmp://a:1935/b/..."},
		{"live/*=srt://a.example:9000?streamid=%23!::r=x/*%2Cm=publish&passphrase=a+secret+word", "live/s", "", "#!::r=x/s,m=publish", "srt://a.example:9000"},
		{"live/s=srt://[::1]:9000", "live/s", "", "", "srt://[::1]:9000"},
		{"live/s=rtmp://a/b/c", "live/s2", "", "", ""},
		{"live/*-hd=rtmp://a/b/c", "live/-h", "", "", ""},
		{"live/a*a=rtmp://a/b/c", "live/a", "", "", ""},
	} {
		target, err := ParseTarget(c.text, env)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		middle, ok := target.streams.Match(c.stream)
		if ok != (c.shown != "") {
			t.Errorf("%s matches %s: %v", c.text, c.stream, ok)
		}
		if name := strings.ReplaceAll(target.key, "*", middle); ok && (target.app != c.app || name != c.name || target.String() != c.shown) {
			t.Errorf("%s: %s of %s, shown as %s", c.text, name, target.app, target)
		}
	}
	for _, text := range []string{"", "live/s", "=rtmp://a/b/c", "live/**=rtmp://a/b/c", "live/s=http://a/b/hunter2", "live/s=rtmp://a/hunter2", "live/s=rtmp:///b/hunter2",
		"live/s=srt://a?streamid=hunter2", "live/s=srt://a:1/hunter2", "live/s=srt://a:1?passphrase=hunter2", "live/s=srt://u:hunter2@a:1", "live/s=enhanced:srt://a:1?streamid=hunter2", "live/s=rtmp://u:hunter2@a/b/c", "live/s=rtmp://a:x/b/hunter2", "live/s=rtmp://a:99999999/b/hunter2", "live/s=srt://a:0?streamid=hunter2", "live/../s=rtmp://a/b/hunter2", "live/s=rtmp://a/b/${MISSING}", "live/s=rtmp://a/b/c#hunter2", "live/s=rtmp://a/b/c?hunter2#d", "live/s=rtmp://a/b/c#"} {
		if _, err := ParseTarget(text, env); !errors.Is(err, ErrTarget) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Whatever the text, a target never shows its key, neither in errors nor as it is shown.
func FuzzTarget(f *testing.F) {
	f.Add("live/*=rtmp://a.example/live/hunter2*")
	f.Add("live/*-hd=enhanced:rtmps://[::1]:99/x/y/hunter2?k=1")
	f.Add("=rtmp://a/hunter2")
	f.Add(strings.Repeat("\x1b", 100))
	f.Add(strings.Repeat("\U0010ffff", 100))
	f.Add("live/*=srt://a:9000?streamid=*&passphrase=hunter2hunter2")
	f.Fuzz(func(t *testing.T, text string) {
		target, err := ParseTarget(text, func(string) string { return "" })
		if err != nil {
			if !errors.Is(err, ErrTarget) || len(err.Error()) > 400 {
				t.Fatal(err)
			}
			return
		}
		if target.srt != nil {
			if target.String() != "srt://"+target.srt.Host {
				t.Errorf("%q: %+v", text, target)
			}
			return
		}
		if target.app == "" || strings.Contains(target.key, "/") || !strings.HasSuffix(target.String(), "/"+target.app+"/...") {
			t.Errorf("%q: %+v", text, target)
		}
	})
}
