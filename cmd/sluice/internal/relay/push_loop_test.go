package relay

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/push"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/internal/loopback"
)

// A target that is the server itself: under the stream's own name the publisher stays, under
// another the stream is there once more, and goes no further.
func TestPushToItself(t *testing.T) {
	for _, takeover := range []string{"refuse", "replace", "standby"} {
		t.Run(takeover, func(t *testing.T) {
			at := loopback.Free(t)
			s := rtmpServeWith(t, func(c *relayConfig) { c.RTMP, c.Takeover = at, takeover }, pushing(t, &relayLog{},
				"live/*=rtmp://"+at+"/live/*", "live/*=rtmp://"+at+"/live/x*", "live/*=rtmp://"+at+"/other/*"))
			p := rtmpPush(t, s, "rtmp", "live", "s")
			if err := p.send(rtmpClip()[:20]); err != nil {
				t.Fatal(err)
			}
			refusedAll := func() bool {
				live, refused := 0, 0
				for _, q := range s.web.Pushes.List() {
					switch {
					case q.State == push.Live && q.Stream == "live/s":
						live++
					case q.Error != "" && q.Tries > 2: // it stays so
						refused++
					}
				}
				return live == 2 && refused == 4 // of live/xs all, of live/s one
			}
			rtmpUntil(t, "two copies, and no more", refusedAll)
			// What tries again is admitted until it has a frame.
			rtmpUntil(t, "three publishers", func() bool { return s.host.Register.Number(session.RolePublisher) == 3 })
			if err := p.send(rtmpClip()[20:40]); err != nil {
				t.Errorf("the encoder: %v", err)
			}
			rtmpUntil(t, "the encoder's frames come", func() bool {
				st, ok := s.host.Hub.Stream("live/s")
				return ok && st.Stats().FramesIn >= 40
			})
		})
	}
}

// Two servers that push to each other do not push a stream around.
func TestTwoServersPushToEachOther(t *testing.T) {
	first, second := loopback.Free(t), loopback.Free(t)
	a := rtmpServeWith(t, func(c *relayConfig) { c.RTMP = first }, pushing(t, &relayLog{}, "live/*=rtmp://"+second+"/live/x*"))
	b := rtmpServeWith(t, func(c *relayConfig) { c.RTMP = second }, pushing(t, &relayLog{}, "live/*=rtmp://"+first+"/live/x*"))
	p := rtmpPush(t, a, "rtmp", "live", "s")
	if err := p.send(rtmpClip()[:20]); err != nil {
		t.Fatal(err)
	}
	rtmpUntil(t, "the way back is refused", func() bool {
		for _, q := range b.web.Pushes.List() {
			if q.State == push.Refused && q.Tries > 2 {
				return true
			}
		}
		return false
	})
	for i, s := range []*Server{a, b} {
		if n := s.host.Register.Number(session.RolePublisher); n != 1 {
			t.Errorf("server %d has %d publishers", i, n)
		}
	}
}

// By SRT a server does not push to itself, whatever the stream's name there.
func TestPushToItselfBySRT(t *testing.T) {
	at := loopback.Free(t)
	s := rtmpServeWith(t, func(c *relayConfig) { c.SRT = at }, pushing(t, &relayLog{},
		"live/*=srt://"+at+"?streamid=publish:live/*", "live/*=srt://"+at+"?streamid=publish:live/x*"))
	p := rtmpPush(t, s, "rtmp", "live", "s")
	if err := p.send(rtmpClip()[:40]); err != nil {
		t.Fatal(err)
	}
	rtmpUntil(t, "all is refused", func() bool {
		refused := 0
		for _, q := range s.web.Pushes.List() {
			if strings.Contains(q.Error, "this server itself") && q.Tries > 1 {
				refused++
			}
		}
		return refused == 2
	})
	if n := s.host.Register.Number(session.RolePublisher); n != 1 {
		t.Errorf("%d publishers", n)
	}
	for address, here := range map[string]bool{"127.0.0.1": true, "::1": true, "192.0.2.1": false, "2001:db8::1": false} {
		if isHere(netip.MustParseAddr(address)) != here {
			t.Errorf("%s is of this machine: %v", address, !here)
		}
	}
}
