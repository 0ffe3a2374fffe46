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
	if n, publishers := h.Shed(false); n != 2 || publishers != 0 || len(ended) != 2 {
		t.Errorf("%d, %d: %v", n, publishers, ended)
	}
	for _, n := range []int{58, 59} {
		if err := ended[fmt.Sprint(RoleViewer, n, false)]; Code(err) != "memory" {
			t.Errorf("the viewer of second %d: %v", n, err)
		}
	}
	if n, publishers := (&Host{Register: NewRegister(slog.New(slog.DiscardHandler))}).Shed(true); n != 0 || publishers != 0 {
		t.Errorf("%d, %d of none", n, publishers)
	}
}

// Publishers are ended for what they take, the fastest for what is kept of streams, and not the viewers of
// others.
func TestPublishersAreShed(t *testing.T) {
	for _, c := range []struct {
		name                string
		publishers, viewers int
		streams             bool
		shed                int // the publisher; -1: viewers
	}{
		{"few viewers", 20, 30, false, 19},
		{"many", 20, 300, false, -1},
		{"many, and the streams take too much", 20, 300, true, 17},
		{"one alone", 1, 2, true, -1},
	} {
		h := &Host{Register: NewRegister(slog.New(slog.DiscardHandler))}
		var ended []int
		began := time.Now().Add(-time.Hour)
		for n := range c.publishers {
			p := h.Register.Begin(RolePublisher, Info{Stream: fmt.Sprint(n), Protocol: RTMP})
			p.Since = began.Add(time.Duration(n) * time.Second)
			p.Count(1 << 20)
			if n%5 == 2 {
				p.Count(10<<20 + n) // about as fast: 17 is the newest
			}
			p.Attach(nil, func(err error) {
				if Code(err) != "memory" {
					t.Errorf("%s: %v", c.name, err)
				}
				ended = append(ended, n)
			})
		}
		for n := range c.viewers {
			h.Register.Begin(RoleViewer, Info{Stream: fmt.Sprint(n), Protocol: RTMP})
		}
		viewers, publishers := h.Shed(c.streams)
		if c.shed >= 0 && (viewers != 0 || publishers != 1 || len(ended) != 1 || ended[0] != c.shed) || c.shed < 0 && (viewers == 0 || len(ended) > 0) {
			t.Errorf("%s: %d viewers, %d publishers are ended: %v", c.name, viewers, publishers, ended)
		}
	}
}
