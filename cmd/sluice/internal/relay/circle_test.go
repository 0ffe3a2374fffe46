package relay

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/rtmp"
)

// Servers that are each other's origins have no frames of a stream whose publisher has gone:
// what one of them still has comes from the other, and would go round for ever, in the place
// of the publisher that comes back.
func TestEdgeFramesGoInNoCircle(t *testing.T) {
	for _, scheme := range []string{"rtmp", "http"} {
		for _, number := range []int{2, 3} {
			t.Run(scheme+string(rune('0'+number)), func(t *testing.T) {
				ring := []*Server{rtmpServe(t, nil)} // each pulls from the one before it, the first from the last
				for range number - 1 {
					ring = append(ring, rtmpServeWith(t, nil, edgeFast(t, edgeAddress(ring[len(ring)-1], scheme))))
				}
				first, last := ring[0], ring[number-1]
				edgeFast(t, edgeAddress(last, scheme))(first)

				p := rtmpPush(t, first, "rtmp", "live", "s")
				if err := p.send(rtmpClip()[:20]); err != nil {
					t.Fatal(err)
				}
				v := rtmpDial(t, last, "rtmp", "live")
				if err := v.c.Play("s?wait=10"); err != nil {
					t.Fatal(err)
				}
				if _, _, err := v.receive(20); err != nil {
					t.Fatal(err)
				}
				p.conn.Close()
				rtmpUntil(t, "the stream is over where it was published", func() bool {
					_, ok := first.host.Hub.Stream("live/s")
					return !ok
				})
				for range 3 {
					x := rtmpDial(t, first, "rtmp", "live")
					if code := rtmpRefusal(x.c.Play("s")); code != rtmp.PlayStreamNotFound {
						t.Fatalf("a viewer is refused with %q", code)
					}
				}
				again := rtmpPush(t, first, "rtmp", "live", "s")
				// What the viewer has seen already is not repeated.
				if err := again.send(rtmpClip()[:40]); err != nil {
					t.Fatal(err)
				}
				if _, _, err := v.receive(20); err != nil {
					t.Errorf("the viewer at the other end: %v", err)
				}
			})
		}
	}
}

// So for the sources of streams.
func TestSourcesGoInNoCircle(t *testing.T) {
	a := rtmpServe(t, withRTSP)
	b := rtmpServeWith(t, withRTSP, sourcedFast(t, "live/s=rtsp://"+a.Addresses()["rtsp"]+"/live/s"))
	sourcedFast(t, "live/s=rtsp://"+b.Addresses()["rtsp"]+"/live/s")(a)

	p := rtmpPush(t, a, "rtmp", "live", "s")
	if err := p.send(rtmpClip()[:20]); err != nil {
		t.Fatal(err)
	}
	v := rtmpDial(t, b, "rtmp", "live")
	if err := v.c.Play("s?wait=10"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := v.receive(10); err != nil {
		t.Fatal(err)
	}
	p.conn.Close()
	rtmpUntil(t, "the stream is over where it was published", func() bool {
		_, ok := a.host.Hub.Stream("live/s")
		return !ok
	})
	x := rtmpDial(t, a, "rtmp", "live")
	if code := rtmpRefusal(x.c.Play("s?wait=1")); code != rtmp.PlayStreamNotFound {
		t.Fatalf("a viewer is refused with %q", code)
	}
}

// A server that pushes a stream to another, and would pull it from there, does not get its own
// frames back.
func TestPushedStreamsGoInNoCircle(t *testing.T) {
	for _, scheme := range []string{"rtmp", "http"} {
		t.Run(scheme, func(t *testing.T) {
			at := loopback.Free(t)
			b := rtmpServeWith(t, func(c *relayConfig) { c.RTMP, c.Grace = at, time.Minute }, nil)
			push := pushing(t, &relayLog{}, "live/*=rtmp://"+at+"/live/*")
			a := rtmpServeWith(t, nil, func(s *Server) {
				push(s)
				edgeFast(t, edgeAddress(b, scheme))(s)
			})
			p := rtmpPush(t, a, "rtmp", "live", "s")
			if err := p.send(rtmpClip()[:20]); err != nil {
				t.Fatal(err)
			}
			rtmpUntil(t, "it is pushed", func() bool {
				st, ok := b.host.Hub.Stream("live/s")
				return ok && st.Stats().FramesIn >= 20
			})
			p.conn.Close()
			rtmpUntil(t, "the stream is over where it was published", func() bool {
				_, ok := a.host.Hub.Stream("live/s")
				return !ok
			})
			x := rtmpDial(t, a, "rtmp", "live")
			if code := rtmpRefusal(x.c.Play("s")); code != rtmp.PlayStreamNotFound {
				t.Errorf("a viewer is refused with %q", code)
			}
		})
	}
}
