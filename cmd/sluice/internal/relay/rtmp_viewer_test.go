package relay

import (
	"errors"
	"io"
	"math"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/rtmp"
)

// rtmpWatched is a server, its publisher and a viewer that has the first frames.
func rtmpWatched(t *testing.T, way string, frames int) (s *Server, p, v *rtmpClient) {
	t.Helper()
	s = rtmpServe(t, nil)
	p = rtmpPush(t, s, "rtmp", "live", "s")
	if err := p.send(rtmpClip()[:frames]); err != nil {
		t.Fatal(err)
	}
	rtmpUntil(t, "the frames are there", func() bool {
		st, ok := s.host.Hub.Stream("live/s")
		return ok && st.Stats().FramesIn == int64(frames)
	})
	v = rtmpDial(t, s, way, "live")
	if err := v.c.Play("s"); err != nil {
		t.Fatal(err)
	}
	got, _, err := v.receive(frames)
	if err != nil {
		t.Fatal(err)
	}
	rtmpCompare(t, "viewer", got, rtmpClip()[:frames])
	return s, p, v
}

func rtmpWays(t *testing.T, f func(t *testing.T, way string)) {
	for _, way := range []string{"rtmp", "rtmps"} {
		t.Run(way, func(t *testing.T) { f(t, way) })
	}
}

// What the server says to a viewer goes between the messages of the stream.
func TestRTMPAnswersStandBetweenFrames(t *testing.T) {
	rtmpWays(t, func(t *testing.T, way string) {
		_, p, v := rtmpWatched(t, way, 10)
		clip := rtmpClip()
		sent := make(chan error, 1)
		go func() { sent <- p.send(clip[10:200]) }()
		for i := range uint32(50) {
			if err := v.c.Ping(i); err != nil {
				t.Fatal(err)
			}
			if err := v.c.WriteCommand(1, "getStreamLength", float64(i+10), nil, "s"); err != nil {
				t.Fatal(err)
			}
			if err := v.c.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		got, _, err := v.receive(190)
		if err != nil {
			t.Fatal(err)
		}
		rtmpCompare(t, "viewer", got, clip[10:200])
		if err := <-sent; err != nil {
			t.Error(err)
		}
	})
}

func TestRTMPPauseAndResume(t *testing.T) {
	rtmpWays(t, func(t *testing.T, way string) {
		_, p, v := rtmpWatched(t, way, 10)
		pause := func(on bool) string {
			if err := v.c.WriteCommand(1, "pause", 0, nil, on, 0.0); err != nil {
				t.Fatal(err)
			}
			if err := v.c.Flush(); err != nil {
				t.Fatal(err)
			}
			code, err := v.status()
			if err != nil {
				t.Fatal(err)
			}
			return code
		}
		if code := pause(true); code != "NetStream.Pause.Notify" {
			t.Errorf("pause is answered with %s", code)
		}
		if err := p.send(rtmpClip()[10:300]); err != nil {
			t.Fatal(err)
		}
		if code := pause(false); code != "NetStream.Unpause.Notify" {
			t.Errorf("the end of the pause is answered with %s", code)
		}
		if err := p.send(rtmpClip()[300:320]); err != nil {
			t.Fatal(err)
		}
		if _, _, err := v.receive(20); err != nil {
			t.Error(err)
		}
	})
}

func TestRTMPViewerSaysThatItIsDone(t *testing.T) {
	for _, command := range []string{"deleteStream", "closeStream"} {
		t.Run(command, func(t *testing.T) {
			s, _, v := rtmpWatched(t, "rtmp", 10)
			if err := v.c.WriteCommand(0, command, 0, nil, 1.0); err != nil {
				t.Fatal(err)
			}
			if err := v.c.Flush(); err != nil {
				t.Fatal(err)
			}
			if _, _, err := v.receive(math.MaxInt); !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			rtmpUntil(t, "the viewer is gone", func() bool { return s.host.Gate.Usage().Viewers == 0 && rtmpViewers(s, "live/s") == 0 })
		})
	}
}

func TestRTMPViewerWhoLeavesIsNoticed(t *testing.T) {
	rtmpWays(t, func(t *testing.T, way string) {
		s, _, v := rtmpWatched(t, way, 10)
		v.close()
		rtmpUntil(t, "the viewer is gone", func() bool {
			return s.host.Gate.Usage().Viewers == 0 && s.host.Register.Number(session.RoleViewer) == 0
		})
	})
}

func TestRTMPViewerWhoLeavesWhileItWaits(t *testing.T) {
	rtmpWays(t, func(t *testing.T, way string) {
		s := rtmpServe(t, nil)
		v := rtmpDial(t, s, way, "live")
		over := make(chan error)
		go func() { over <- v.c.Play("s?wait=60") }()
		rtmpUntil(t, "it waits", func() bool { return s.host.Gate.Usage().Viewers == 1 })
		v.conn.Close()
		<-over
		rtmpUntil(t, "it is gone", func() bool { return s.host.Gate.Usage().Viewers == 0 })
	})
}

func TestRTMPShutdownWhileSomebodyWaits(t *testing.T) {
	s := rtmpServe(t, nil)
	v := rtmpDial(t, s, "rtmp", "live")
	silent := rtmpRaw(t, s, "rtmp")
	over := make(chan error)
	go func() { over <- v.c.Play("s?wait=60") }()
	rtmpUntil(t, "it waits", func() bool { return s.host.Gate.Usage().Viewers == 1 && s.rtmp.Arrivals.Stats().On == 1 })
	began := time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if d := time.Since(began); d > rtmpTimeout/2 {
		t.Errorf("closing takes %v", d)
	}
	if err := <-over; err == nil {
		t.Error("it plays")
	}
	if _, err := silent.conn.Read(make([]byte, 1)); err == nil {
		t.Error("the server speaks")
	}
}

func TestRTMPKick(t *testing.T) {
	rtmpWays(t, func(t *testing.T, way string) {
		s, p, v := rtmpWatched(t, way, 10)
		for _, c := range s.host.Register.List() {
			if c.Role == session.RoleViewer {
				c.Stop(session.ErrKicked)
			}
		}
		if _, _, err := v.receive(math.MaxInt); err == nil {
			t.Error("the viewer is not kicked")
		}
		if err := p.send(rtmpClip()[10:20]); err != nil {
			t.Error(err)
		}
		for _, c := range s.host.Register.List() {
			c.Stop(session.ErrKicked)
		}
		if _, code, err := p.receive(1); !errors.Is(err, io.EOF) || code != rtmp.PublishBadName {
			t.Errorf("the publisher is told %q, %v", code, err)
		}
		rtmpUntil(t, "nobody is left", func() bool { return len(s.host.Register.List()) == 0 })
	})
}

func TestRTMPTokens(t *testing.T) {
	secret := "0123456789abcdef0123456789abcdef"
	s := rtmpServe(t, func(c *relayConfig) {
		c.Protect, c.TokenSecret = []string{"publish", "play"}, secret
	})
	token := func(a access.Action) string {
		return "s?token=" + access.Sign([]byte(secret), a, "live/s", time.Now().Add(time.Hour))
	}
	for _, c := range []struct {
		name, code string
	}{{"s", rtmp.PublishDenied}, {"s?token=1.x", rtmp.PublishDenied}, {token(access.Play), rtmp.PublishDenied}, {token(access.Publish), "accepted"}} {
		x := rtmpDial(t, s, "rtmp", "live")
		if got := rtmpRefusal(x.c.Publish(c.name)); got != c.code {
			t.Errorf("publishing: %s, want %s", got, c.code)
		}
	}
	for _, c := range []struct {
		name, code string
	}{{"s", rtmp.PlayFailed}, {token(access.Publish), rtmp.PlayFailed}, {token(access.Play), "accepted"}} {
		x := rtmpDial(t, s, "rtmps", "live")
		if got := rtmpRefusal(x.c.Play(c.name)); got != c.code {
			t.Errorf("playing: %s, want %s", got, c.code)
		}
	}
}
