package relay

import (
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// By every protocol a publisher replaces another with its first frame, and not before: many
// never send one.
func TestPublisherReplacesAnotherWithItsFirstFrame(t *testing.T) {
	clip := flvtest.Clip(t)
	type begun struct{ send, end func() }
	ways := map[string]func(t *testing.T, s *relayServer) begun{
		"RTMP": func(t *testing.T, s *relayServer) begun {
			x := rtmpDial(t, s.Server, "rtmp", "live")
			if err := x.c.Publish("s"); err != nil {
				t.Fatal(err)
			}
			return begun{func() {
				if err := x.send(rtmpClip()[:20]); err != nil {
					t.Fatal(err)
				}
			}, x.close}
		},
		"RTSP, announced": func(t *testing.T, s *relayServer) begun {
			x := rtspDial(t, s.Server)
			x.must(200, "ANNOUNCE", "live/s", rtspDescription(t), rtspSDP)
			return begun{end: func() { x.conn.Close() }}
		},
		"RTSP": func(t *testing.T, s *relayServer) begun {
			x := rtspDial(t, s.Server)
			send := x.record("live/s")
			return begun{func() { send(5) }, func() { x.conn.Close() }}
		},
		"SRT": func(t *testing.T, s *relayServer) begun {
			conn := srtConnect(t, s.Addresses()["srt"], "publish:live/s", nil)
			return begun{func() { s.srtPublish(t, conn, "live/s", 1) }, func() { conn.Close() }}
		},
		"POST": func(t *testing.T, s *relayServer) begun {
			p := s.publishing(t, "/live/s.flv")
			return begun{func() { p.send(t, clip[:20]...) }, func() { p.Close() }}
		},
		"WHIP": func(t *testing.T, s *relayServer) begun {
			x := s.rtcPublish(t, "/live/s/whip", rtcOptions{})
			return begun{func() { x.send(clip...) }, func() { x.pc.Close() }}
		},
	}
	for name, begin := range ways {
		for _, takeover := range []string{config.TakeoverReplace, config.TakeoverRefuse} { // with the latter it comes back, by its address
			t.Run(name+", "+takeover, func(t *testing.T) {
				s := startRelay(t, func(c *relayConfig) {
					c.RTMP, c.RTSP, c.SRT, c.WebRTC = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
					c.Takeover = takeover
				})
				p := s.publishing(t, "/live/s.flv")
				p.send(t, clip[:len(clip)/2]...)
				s.streaming(t, "live/s")
				st, _ := s.host.Hub.Stream("live/s")
				first := st.Publisher()
				publishers := func() int { return s.host.Register.Number(session.RolePublisher) }

				silent := begin(t, s)
				if silent.send != nil {
					relayEventually(t, "the second one is there", func() bool { return publishers() == 2 })
				}
				if st.Publisher() != first {
					t.Fatal("the second one has replaced the first before it sent anything")
				}
				silent.end()
				relayEventually(t, "the second one has ended", func() bool { return publishers() == 1 })
				if st.Publisher() != first || first.Err() != nil {
					t.Fatal("the end of the second one has ended the first")
				}
				if silent.send == nil {
					return
				}

				again := begin(t, s)
				relayEventually(t, "the third one is there", func() bool { return publishers() == 2 })
				again.send()
				relayEventually(t, "it has replaced the first", func() bool { return st.Publisher() != nil && st.Publisher() != first && publishers() == 1 })
				if a := p.answered(t); a.status != 409 {
					t.Errorf("the first: %+v", a)
				}
				again.end()
			})
		}
	}
}

// A publisher that would replace another ends with the server, and is in no one's way.
func TestPublisherWithoutAFrameEndsWithTheServer(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.RTMP, c.Takeover = "127.0.0.1:0", config.TakeoverReplace })
	p := s.publishing(t, "/live/s.flv")
	clip := flvtest.Clip(t)
	p.send(t, clip[:len(clip)/2]...)
	s.streaming(t, "live/s")
	x := rtmpDial(t, s.Server, "rtmp", "live")
	if err := x.c.Publish("s"); err != nil {
		t.Fatal(err)
	}
	q := s.publishing(t, "/live/s.flv")
	relayEventually(t, "all are there", func() bool { return s.host.Register.Number(session.RolePublisher) == 3 })
	s.stop()
	relayEventually(t, "all have ended", func() bool { return s.host.Register.Number(session.RolePublisher) == 0 })
	for _, one := range []*relayPipe{p, q} {
		if a := one.answered(t); a.status != 503 {
			t.Errorf("%+v", a)
		}
	}
	x.close()
}
