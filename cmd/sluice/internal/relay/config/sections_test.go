package config

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

const sectioned = `grace: 1s
merge: 50ms
streams:
  live/*:
    grace: 2s
    allow-publish: [10.0.0.0/8, "::1"]
    push: [rtmp://a.example/x/*, live/b=rtmp://b.example/y/z]
  "*-hd": {gop: false, grace: 3s}
  live/a:
    max-viewers-per-stream: 7
    on-publish: >-
      a b
      c
`

// A section's settings go before all others; of several that match the later one goes
// before the earlier, whatever the two have.
func TestSections(t *testing.T) {
	c := Default()
	name := configFile(t, sectioned)
	if err := c.ReadFile(name); err != nil {
		t.Fatal(err)
	}
	c.Merge = 40 * time.Millisecond
	c.SetBy("merge", "--merge")
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	for stream, want := range map[string]string{
		"app/x":     "1s true 0  ",
		"live/x":    "2s true 0 10.0.0.0/8,::1 live/*=rtmp://a.example/x/*,live/b=rtmp://b.example/y/z",
		"live/x-hd": "3s false 0 10.0.0.0/8,::1 live/*=rtmp://a.example/x/*,live/b=rtmp://b.example/y/z",
		"app/x-hd":  "3s false 0  ",
		"live/a":    "2s true 7 10.0.0.0/8,::1 live/*=rtmp://a.example/x/*,live/b=rtmp://b.example/y/z",
	} {
		r := c.For(stream)
		got := fmt.Sprint(r.Grace, r.GOP, r.MaxViewersPerStream, " ", strings.Join(r.AllowPublish, ","), " ", strings.Join(r.Push, ","))
		if strings.ReplaceAll(got, "  ", " ") != strings.ReplaceAll(want, "  ", " ") || r.Merge != 40*time.Millisecond {
			t.Errorf("%s: %q, want %q", stream, got, want)
		}
		if c.For(stream) != r {
			t.Errorf("%s: another value the second time", stream)
		}
	}
	if c.For("live/x") != c.For("live/y") || c.For("app/x") != &c {
		t.Error("streams of the same sections have different values")
	}
	for setting, want := range map[string]string{"grace": name + ":8:24", "gop": name + ":8:12", "merge": "--merge", "push": name + ":7:5", "cors": ""} {
		if got := c.For("live/x-hd").Place(setting); got != want {
			t.Errorf("%s is from %q, want %q", setting, got, want)
		}
	}
	if c.Grace != time.Second || c.Place("grace") != name+":1:1" {
		t.Error("a section has changed the settings of all")
	}
	var all sync.WaitGroup
	for n := range 50 {
		all.Go(func() { c.For(fmt.Sprint("live/", n%5, "-hd")) })
	}
	all.Wait()
	if got := c.For("live/a").OnPublish; got != "a b c" {
		t.Errorf("%q", got)
	}
}

// Everything that is wrong with sections is said with line and column, and nothing of
// a section with a fault holds.
func TestWrongSections(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"streams: 5\n", ":1:1: streams: not patterns"},
		{"streams: [live/*]\n", ":1:1: streams: not patterns"},
		{"streams:\n  live/*:\n", ":2:3: not a pattern with settings"},
		{"streams:\n  live/*: x\n", ":2:3: not a pattern with settings"},
		{"streams:\n  live/**: {gop: false}\n", ":2:3: pattern: not a stream's name"},
		{"streams:\n  live/*:\n    port: 1\n", `:3:5: unknown key "port"`},
		{"streams:\n  live/*:\n    http: \":80\"\n", ":3:5: http holds for all streams"},
		{"streams:\n  live/*:\n    streams: {a: {gop: true}}\n", ":3:5: streams: takes a plain value"},
		{"streams:\n  live/*:\n    grace: soon\n    gop: [true]\n    merge: 1h\n", ":3:5: grace: \"soon\" is not a time"},
		{"streams:\n  live/*:\n    grace: soon\n    gop: [true]\n    merge: 1h\n", ":4:5: gop: takes one value"},
		{"streams:\n  live/*:\n    grace: soon\n    gop: [true]\n    merge: 1h\n", ":5:5: merge: 1h0m0s is not within"},
		{"streams:\n  live/*:\n    push: http://a/b/c\n", ":3:5: push: "},
		{"streams:\n  live/*: {gop: true}\n  live/*: {gop: false}\n", "already defined"},
	} {
		config := Default()
		err := config.ReadFile(configFile(t, c.text))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v, want %q", c.text, err, c.says)
		}
		if len(config.Sections()) > 0 {
			t.Errorf("%q: %+v", c.text, config.Sections())
		}
	}
	// What needs something else is checked for each section.
	config := Default()
	name := configFile(t, "streams:\n  live/*:\n    protect: publish\n")
	if err := config.ReadFile(name); err != nil {
		t.Fatal(err)
	}
	if err := config.Check(); err == nil || !strings.HasPrefix(err.Error(), name+":3:5: protect: ") {
		t.Errorf("%v", err)
	}
	config.TokenSecret = strings.Repeat("x", 16)
	if err := config.Check(); err != nil {
		t.Error(err)
	}
}

func TestReloadOfSections(t *testing.T) {
	read := func(text string) Config {
		c := Default()
		if err := c.ReadFile(configFile(t, text)); err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := read("streams: {live/*: {grace: 2s}}\n")
	if got := c.For("live/a").Grace; got != 2*time.Second {
		t.Fatal(got)
	}
	if changed, waiting := c.Reload(read("# moved\n\nstreams:\n  live/*:\n    grace: 2s\n")); changed != nil || waiting != nil {
		t.Errorf("the same elsewhere: %v %v", changed, waiting)
	}
	if changed, _ := c.Reload(read("merge: 10ms\nstreams: {live/*: {grace: 3s}}\n")); fmt.Sprint(changed) != "[merge streams]" {
		t.Errorf("changed %v", changed)
	}
	if r := c.For("live/a"); r.Grace != 3*time.Second || r.Merge != 10*time.Millisecond {
		t.Errorf("after a reload: %v %v", r.Grace, r.Merge)
	}
	if changed, _ := c.Reload(Default()); fmt.Sprint(changed) != "[merge streams]" || c.For("live/a") != &c {
		t.Errorf("without sections: %v", changed)
	}
}

// However a file is broken, reading it ends, and what it says to be right can be
// resolved.
func FuzzFile(f *testing.F) {
	f.Add([]byte(sectioned), "live/x-hd")
	f.Add([]byte("streams: {\"*\": {gop: false}}\n"), "a")
	f.Add([]byte("http: \":80\"\n# c\ncors: [\"*\"]\n"), "a/b")
	f.Add([]byte("streams:\n  ? [a]\n  : {b: c}\n"), "a/b")
	f.Fuzz(func(t *testing.T, text []byte, stream string) {
		c := Default()
		if err := c.readYAML("f", text); err != nil {
			return
		}
		if c.Check() != nil {
			return
		}
		if first, again := c.For(stream), c.For(stream); first != again {
			t.Error("two values")
		}
	})
}

// A target that is a bare address gets the section's pattern, whatever its protocol.
func TestBareTargetsOfSections(t *testing.T) {
	for _, target := range []string{"rtmp://a/b/*", "rtmps://a/b/*", "srt://a:1?streamid=*", "enhanced:rtmp://a/b/*"} {
		c := Default()
		if err := c.ReadFile(configFile(t, "streams:\n  live/*:\n    push: \""+target+"\"\n")); err != nil {
			t.Error(err)
		} else if got := c.For("live/x").Push; len(got) != 1 || got[0] != "live/*="+target {
			t.Errorf("%s: %q", target, got)
		}
	}
}
