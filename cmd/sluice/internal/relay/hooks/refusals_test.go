package hooks

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

func TestRefusals(t *testing.T) {
	var recent Recent
	r := NewRefusals(Reporter{&recent})
	now := r.filled
	refuse := func(n int) {
		for range n {
			info := session.Info{Stream: strings.Repeat("é", 300), Protocol: session.RTMP, Address: "192.0.2.1:5"}
			r.add(now, session.RolePublisher, info, fmt.Errorf("%w: live/s", session.ErrBusy))
		}
	}
	refuse(1000)
	events, _ := recent.After(0)
	if len(events) != refusalsAtOnce {
		t.Fatalf("%d events of a thousand refusals", len(events))
	}
	v := events[0]
	if v.Event != Refused || v.Action != "publish" || v.Code != "busy" || !strings.Contains(v.Reason, "already has a publisher") || len(v.Stream) > maxRefused || v.Address == "" {
		t.Errorf("%+v", v)
	}
	now = now.Add(refusalEvery)
	refuse(3)
	events, _ = recent.After(refusalsAtOnce)
	if len(events) != 1 || events[0].Count != 1000-refusalsAtOnce {
		t.Errorf("%+v", events)
	}
	now = now.Add(time.Hour)
	refuse(1000)
	if events, _ = recent.After(refusalsAtOnce + 1); len(events) != refusalsAtOnce || events[0].Count != 2 {
		t.Errorf("%d events after an hour", len(events))
	}
}
