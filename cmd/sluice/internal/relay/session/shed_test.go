package session

import (
	"fmt"
	"log/slog"
	"testing"
	"time"
)

// The newest viewers are ended, with the reason; not publishers, nor other nodes, nor who has come
// before.
func TestTheNewestViewersAreShed(t *testing.T) {
	h := &Host{Register: NewRegister(slog.New(slog.DiscardHandler))}
	ended := map[string]error{}
	began := time.Now()
	add := func(role Role, n int, peer bool) {
		c := h.Register.Begin(role, Info{Stream: "live/s", Protocol: FLV, Peer: peer})
		c.Since = began.Add(time.Duration(n) * time.Second)
		id := fmt.Sprint(role, n, peer)
		c.Attach(nil, func(err error) { ended[id] = err })
	}
	for n := range 60 {
		add(RoleViewer, (n*7)%60, false)
	}
	add(RoleViewer, 100, true)
	add(RolePublisher, 100, false)
	if n := h.Shed(); n != 2 || len(ended) != 2 {
		t.Errorf("%d: %v", n, ended)
	}
	for _, n := range []int{58, 59} {
		if err := ended[fmt.Sprint(RoleViewer, n, false)]; Code(err) != "memory" {
			t.Errorf("the viewer of second %d: %v", n, err)
		}
	}
	if n := (&Host{Register: NewRegister(slog.New(slog.DiscardHandler))}).Shed(); n != 0 {
		t.Errorf("%d of no viewers", n)
	}
}
