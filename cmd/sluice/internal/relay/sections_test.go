package relay

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/internal/loopback"
)

// sectionFile writes a configuration.
func sectionFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// recorded waits until a directory has so many files of a stream.
func recorded(t *testing.T, dir, stream string, n int) {
	t.Helper()
	relayEventually(t, "files of "+stream+" in "+dir, func() bool {
		list, _ := filepath.Glob(filepath.Join(dir, stream+"-*.flv"))
		return len(list) == n
	})
}

// Streams of different sections have different rules, limits, hooks, recordings and
// pushes. A reload over the API applies other ones, all or nothing, and ends no session.
func TestSectionsOfStreams(t *testing.T) {
	var asked atomic.Int32
	hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer hook.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "sluice.yaml")
	away := loopback.Free(t)
	base := "streams:\n  closed/*:\n    allow-publish: 192.0.2.1\n  paid/*:\n    protect: play\n    max-viewers-per-stream: 1\n  asked/*:\n    hook: " + hook.URL + "\n"
	sectionFile(t, file, base+"  live/*: {merge: 20ms, merge-adapt: false, record: "+dir+"/one, push: rtmp://"+away+"/x/*}\n")
	read := func(c *config.Config) error {
		c.TokenSecret, c.APIToken = "a secret that is long enough", pushAPIToken
		return c.ReadFile(file)
	}
	s := startRelay(t, func(c *relayConfig) {
		if err := read(&c.Config); err != nil {
			t.Fatal(err)
		}
	})
	s.settings.again = func() (config.Config, error) {
		c := config.Default()
		err := read(&c)
		return c, err
	}
	s.web.Reload = s.ReloadAgain
	clip := flvtest.Clip(t)

	if a := s.publishing(t, "/closed/s.flv").answered(t); a.status != http.StatusForbidden {
		t.Errorf("closed: %+v", a)
	}
	for name, status := range map[string]int{"paid/s": http.StatusUnauthorized, "asked/s": 200, "live/s": 200} {
		p := s.publishing(t, "/"+name+".flv")
		p.send(t, clip[:20]...)
		relayEventually(t, name+" is there", func() bool { _, ok := s.host.Hub.Stream(name); return ok })
		if resp, _ := s.playing(t, "/"+name+".flv"); resp.StatusCode != status {
			t.Errorf("%s: %d, want %d", name, resp.StatusCode, status)
		}
	}
	if asked.Load() != 2 { // a publisher and a viewer
		t.Errorf("the hook was asked %d times", asked.Load())
	}
	relayEventually(t, "a viewer has its section's merge time", func() bool { // its loop has looked at it
		status, text := s.do(t, "GET", "/api/clients", http.Header{"Authorization": {"Bearer " + pushAPIToken}})
		return status == 200 && strings.Contains(text, `"merge_ms":20`)
	})
	relayEventually(t, "one stream is pushed", func() bool {
		list := s.web.Pushes.List()
		return len(list) == 1 && list[0].Stream == "live/s"
	})
	recorded(t, dir+"/one", "live/s", 1)
	before := s.host.Register.List()

	// What is wrong changes nothing, and is said with line and column.
	sectionFile(t, file, base+"  live/*: {merge: soon}\n  x/y: {port: 1}\n")
	held := s.host.Config()
	if status, text := s.asked(t, "POST", "/api/reload", ""); status != http.StatusUnprocessableEntity || s.host.Config() != held ||
		!strings.Contains(text, `sluice.yaml:9:12: merge: `) || !strings.Contains(text, `sluice.yaml:10:9: unknown key`) {
		t.Errorf("a wrong file: %d %s", status, text)
	}
	sectionFile(t, file, "streams:\n  paid/*: {max-viewers-per-stream: 1}\n  live/*: {record: "+dir+"/two, allow-play: 192.0.2.1}\n")
	if status, text := s.asked(t, "GET", "/api/reload", ""); status != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d %s", status, text)
	}
	if status, text := s.do(t, "POST", "/api/reload", nil); status != http.StatusUnauthorized {
		t.Errorf("without the token: %d %s", status, text)
	}
	if status, text := s.asked(t, "POST", "/api/reload", ""); status != 200 || !strings.Contains(text, `"streams"`) {
		t.Fatalf("%d %s", status, text)
	}
	recorded(t, dir+"/one", "live/s", 1)
	recorded(t, dir+"/two", "live/s", 1)
	rtmpUntil(t, "nothing is pushed", func() bool { return len(s.web.Pushes.List()) == 0 })
	if after := s.host.Register.List(); len(after) != len(before) {
		t.Errorf("of %d sessions %d are left", len(before), len(after))
	}
	if resp, _ := s.playing(t, "/live/s.flv"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("live after the reload: %d", resp.StatusCode)
	}
	for i, want := range []int{200, http.StatusServiceUnavailable} {
		if resp, _ := s.playing(t, "/paid/s.flv"); resp.StatusCode != want {
			t.Errorf("viewer %d of a stream for one: %d", i, resp.StatusCode)
		}
	}
	s.publishing(t, "/closed/s.flv")
	rtmpUntil(t, "the closed application is open", func() bool { _, ok := s.host.Hub.Stream("closed/s"); return ok })
}

// A section's bounds on the ring hold for its streams that begin.
func TestSectionsOfRings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sluice.yaml")
	sectionFile(t, file, "gop-frames: 4096\nstreams: {small/*: {gop-frames: 16}}\n")
	s := startRelay(t, func(c *relayConfig) {
		if err := c.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	})
	clip := flvtest.Clip(t)
	for name, small := range map[string]bool{"small/s": true, "large/s": false} {
		p := s.publishing(t, "/"+name+".flv")
		p.send(t, clip[:100]...)
		relayEventually(t, "its frames", func() bool {
			st, ok := s.host.Hub.Stream(name)
			return ok && st.Stats().FramesIn == 100
		})
		st, _ := s.host.Hub.Stream(name)
		if frames := st.Stats().RingFrames; frames <= 32 != small {
			t.Errorf("%s keeps %d frames", name, frames)
		}
	}
}
