package push

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/sluice-go/sluice/live"
)

// A stream goes once to one place, whichever targets name it: the second connection would take it
// from the first, and the first from the second, for ever.
func TestOnePushToOnePlace(t *testing.T) {
	hub := live.NewHub(live.HubOptions{})
	defer hub.Close()
	pub, err := hub.Publish("live/s", live.PublishOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer pub.Close()
	target := func(pattern, address string) *Target {
		t.Helper()
		target, err := NewTarget(pattern, address, func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		return target
	}
	settings := []*Target{
		target("live/*", "rtmp://127.0.0.1/app/*"), target("live/s", "rtmp://127.0.0.1:1935/app/s"), target("*/s", "enhanced:rtmp://127.0.0.1/app/s"),
		target("live/*", "rtmp://127.0.0.1/app/*?key=1"), target("live/*", "rtmps://127.0.0.1:1935/app/*"),
		target("live/*", "srt://127.0.0.1:1?streamid=*"), target("live/s", "srt://127.0.0.1:1?latency=300&streamid=s"),
	}
	p := New(Options{Streams: hub.Streams, Targets: func(string) []*Target { return settings }, dial: func(context.Context, string) (net.Conn, error) { return nil, errors.New("away") }})
	p.Begin(pub.Stream())
	pushes := func(want int) {
		t.Helper()
		if list := p.List(); len(list) != want {
			t.Errorf("%d pushes, want %d: %+v", len(list), want, list)
		}
	}
	pushes(4)
	settings = settings[1:]
	p.Refresh()
	pushes(4)
	one, err := p.Add(target("live/*", "rtmp://127.0.0.1/other/*"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := p.Add(target("live/*", "rtmp://127.0.0.1/other/*"))
	if err != nil || again != one || len(p.Added()) != 1 {
		t.Errorf("the same again is %+v, %v, and not %+v", again, err, one)
	}
	pushes(5)
	p.Remove(one.ID)
	pushes(4)
	p.stop()
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
