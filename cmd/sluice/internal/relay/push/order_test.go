package push

import (
	"testing"

	"github.com/sluice-go/sluice/live"
)

// Nothing comes between the question for a stream's targets and what is begun for the answer:
// after a Refresh for new targets, nothing is pushed to old ones.
func TestTargetsOfARefreshAreTheLast(t *testing.T) {
	hub := live.NewHub(live.HubOptions{})
	defer hub.Close()
	pub, err := hub.Publish("live/s", live.PublishOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer pub.Close()
	var p *Pusher
	asked := 0
	p = New(Options{Streams: hub.Streams, Targets: func(string) []*Target {
		if asked++; p.mu.TryLock() {
			p.mu.Unlock()
			t.Error("a Refresh may come in between")
		}
		return nil
	}})
	p.Begin(pub.Stream())
	p.Refresh()
	if asked != 2 {
		t.Errorf("targets were asked for %d times", asked)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
