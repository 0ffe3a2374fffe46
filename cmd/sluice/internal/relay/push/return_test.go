package push

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/sluice-go/sluice/live"
)

// A target whose machine is away, so that nothing answers, is called at least every 5 s.
func TestSilentTargetsAreCalledOften(t *testing.T) {
	hub := live.NewHub(live.HubOptions{})
	defer hub.Close()
	pub, err := hub.Publish("live/s", live.PublishOptions{})
	if err != nil {
		t.Fatal(err)
	}
	target, err := NewTarget("live/*", "rtmp://192.0.2.1/live/*", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	calls := make(chan time.Duration, 1)
	p := New(Options{
		Targets: func(string) []*Target { return []*Target{target} },
		dial: func(ctx context.Context, _ string) (net.Conn, error) {
			until, _ := ctx.Deadline()
			select {
			case calls <- time.Until(until):
			default:
			}
			return nil, errors.New("test: nothing answers")
		},
	})
	p.Begin(pub.Stream())
	call, o := <-calls, p.options
	// TCP asks after 0, 1 and 3 s.
	if most := 5 * time.Second; call > 3*time.Second || o.RetryMost+o.RetryMost/4 > most || rest(o.RetryMost, call, o.Retry)+call-time.Second > most {
		t.Errorf("a call of %v, and another %v later", call, rest(o.RetryMost, call, o.Retry))
	}
	if r := rest(4*time.Second, 10*time.Second, time.Second/2); r != time.Second/2 {
		t.Errorf("%v after a long call", r)
	}
	pub.Close()
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
