package pattern

import (
	"errors"
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name, middle string
		ok                    bool
	}{
		{"live/s", "live/s", "", true},
		{"live/s", "live/s2", "", false},
		{"live/*", "live/a/b", "a/b", true},
		{"live/*", "live", "", false},
		{"live/*", "live/", "", true},
		{"*", "any/thing", "any/thing", true},
		{"live/*-hd", "live/x-hd", "x", true},
		{"live/*-hd", "live/-h", "", false},
		{"live/a*a", "live/a", "", false},
		{"live/a*a", "live/aa", "", true},
	} {
		p, err := Parse(c.pattern)
		if err != nil || p.String() != c.pattern {
			t.Fatal(c.pattern, p, err)
		}
		if middle, ok := p.Match(c.name); ok != c.ok || ok && middle != c.middle {
			t.Errorf("%s matches %s: %q %v", c.pattern, c.name, middle, ok)
		}
	}
	for _, text := range []string{
		"", "**", "a*b*",
		"live", "live/", "/live/*", "live//*", "live/../x", "live/.*", "live/a b", "live/*?x", "api/*", // no name is so
	} {
		if _, err := Parse(text); !errors.Is(err, Err) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("live/*-hd", "live/a-hd")
	f.Fuzz(func(t *testing.T, text, name string) {
		p, err := Parse(text)
		if err != nil {
			return
		}
		middle, ok := p.Match(name)
		if ok && strings.Replace(text, "*", middle, 1) != name {
			t.Errorf("%q matches %q with %q", text, name, middle)
		}
	})
}
