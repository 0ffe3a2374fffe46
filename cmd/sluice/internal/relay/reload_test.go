package relay

import (
	"log/slog"
	"reflect"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
)

// A reload affects new sessions, ends none, and reports which settings wait for a
// restart.
func TestReloadAppliesToTheNextAndDropsNobody(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.MaxViewers = 1 })
	clip := flvtest.Clip(t)
	p := s.publishing(t, "/live/s.flv")
	p.send(t, clip[:20]...)
	_, first := s.playing(t, "/live/s.flv?wait=20")
	if status, text := s.get(t, "/live/s.flv"); status != 503 {
		t.Fatalf("the second of 1 viewer: %d %s", status, text)
	}
	level := new(slog.LevelVar)
	s.settings.level = level
	next := *s.host.Config()
	next.MaxViewers, next.AllowPublish, next.CORS = 2, []string{"192.0.2.0/24"}, []string{"https://a.example"}
	next.LogLevel, next.HTTP, next.GOPFrames, next.MaxFrame = "warn", ":1", 99, 1<<20
	changed, waiting, err := s.Reload(next)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"gop-frames", "allow-publish", "cors", "max-viewers", "log-level"}; !reflect.DeepEqual(changed, want) {
		t.Errorf("changed %v, want %v", changed, want)
	}
	if want := []string{"http", "max-frame"}; !reflect.DeepEqual(waiting, want) {
		t.Errorf("waiting %v, want %v", waiting, want)
	}
	if level.Level() != slog.LevelWarn {
		t.Errorf("the level of the log is %v", level.Level())
	}
	if status, text := s.do(t, "HEAD", "/live/s.flv", nil); status != 200 {
		t.Errorf("the second of 2 viewers: %d %s", status, text)
	}
	if a := s.publishing(t, "/live/other.flv").answered(t); a.status != 403 {
		t.Errorf("a publisher that is not allowed any more: %+v", a)
	}
	// Those who were there go on.
	p.send(t, clip[20:40]...)
	for i, want := range clip[:40] {
		if got, err := first.Next(); err != nil || got != want {
			t.Fatalf("tag %d after the reload: %v", i, err)
		}
	}
	// What is wrong changes nothing.
	before := s.host.Config()
	for _, change := range []func(*config.Config){
		func(c *config.Config) { c.Merge = -1; c.MaxViewers = 9 },
		func(c *config.Config) { c.Protect = []string{"play"}; c.MaxViewers = 9 },
	} {
		bad := *s.host.Config()
		change(&bad)
		if _, _, err := s.Reload(bad); err == nil || s.host.Config() != before {
			t.Errorf("a wrong configuration: %v", err)
		}
	}
}
