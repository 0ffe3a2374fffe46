package relay

import (
	"errors"
	"io"
	"math"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/rtmp"
)

// Viewers who wait for their stream get every byte of it, whatever they and the
// publisher are connected by, and are notified how it ended.
func TestRTMPEveryByteForEveryViewer(t *testing.T) {
	for _, setting := range []string{"rtmp", "rtmps"} {
		t.Run(setting, func(t *testing.T) {
			s := rtmpServe(t, nil)
			type result struct {
				who    string
				frames []rtmpFrame
				code   string
				err    error
			}
			results := make(chan result)
			viewers := []string{"rtmp", "rtmp", "rtmps", "rtmps"}
			for _, way := range viewers {
				x := rtmpDial(t, s, way, "live")
				go func() {
					r := result{who: way}
					if r.err = x.c.Play("s?wait=20"); r.err == nil {
						r.frames, r.code, r.err = x.receive(math.MaxInt)
					}
					results <- r
				}()
			}
			rtmpUntil(t, "the viewers wait", func() bool { return s.host.Gate.Usage().Viewers == len(viewers) })
			p := rtmpPush(t, s, setting, "live", "s")
			if err := p.send(rtmpClip()); err != nil {
				t.Fatal(err)
			}
			if err := p.c.Close(); err != nil {
				t.Fatal(err)
			}
			if code, err := p.status(); code != "NetStream.Unpublish.Success" {
				t.Errorf("the publisher is told %q, %v", code, err)
			}
			for range viewers {
				r := <-results
				if !errors.Is(r.err, io.EOF) || r.code != "NetStream.Play.Stop" {
					t.Errorf("%s: ended with %q, %v", r.who, r.code, r.err)
				}
				rtmpCompare(t, r.who, r.frames, rtmpClip())
			}
			p.close()
			rtmpUntil(t, "nobody is counted any more", func() bool {
				u := s.host.Gate.Usage()
				return u.Viewers == 0 && u.Streams == 0 && len(s.host.Register.List()) == 0
			})
		})
	}
}

func TestRTMPUnknownStreamIsRefusedAtOnce(t *testing.T) {
	s := rtmpServe(t, nil)
	x := rtmpDial(t, s, "rtmp", "live")
	if code := rtmpRefusal(x.c.Play("nothing")); code != rtmp.PlayStreamNotFound {
		t.Errorf("refused with %s", code)
	}
	for name, code := range map[string]string{
		"s?merge=1000": rtmp.PlayFailed,
		"s?wait=x":     rtmp.PlayFailed,
		"":             rtmp.PlayFailed,
		"a\x00b":       rtmp.PlayFailed,
		"../s":         rtmp.PlayFailed,
		"s?wait=0.05":  rtmp.PlayStreamNotFound,
	} {
		x := rtmpDial(t, s, "rtmp", "live")
		if got := rtmpRefusal(x.c.Play(name)); got != code {
			t.Errorf("%q is refused with %s, want %s", name, got, code)
		}
	}
	for _, name := range []string{"", "..", "a\nb"} {
		x := rtmpDial(t, s, "rtmp", "live")
		if got := rtmpRefusal(x.c.Publish(name)); got != rtmp.PublishBadName {
			t.Errorf("publishing %q is refused with %s", name, got)
		}
	}
}

// The whole name may stand in the application, with the query: so it is when an encoder
// has one field for the address, and MediaMTX asks so.
func TestRTMPNameInTheApplication(t *testing.T) {
	secret := "0123456789abcdef0123456789abcdef"
	s := rtmpServe(t, func(c *relayConfig) { c.Protect, c.TokenSecret = []string{"publish"}, secret })
	app := "live/a/s?token=" + access.Sign([]byte(secret), access.Publish, "live/a/s", time.Now().Add(time.Hour))
	p := rtmpPush(t, s, "rtmp", app, "")
	if err := p.send(rtmpClip()[:20]); err != nil {
		t.Fatal(err)
	}
	rtmpUntil(t, "there is a stream", func() bool { _, ok := s.host.Hub.Stream("live/a/s"); return ok })
	for _, at := range [][2]string{{"live/a/s", ""}, {"live/a/s/", ""}, {"live/a", "s"}, {"live", "a/s"}} {
		if err := rtmpDial(t, s, "rtmp", at[0]).c.Play(at[1]); err != nil {
			t.Errorf("%q, %q: %v", at[0], at[1], err)
		}
	}
}

func TestRTMPSecondPublisher(t *testing.T) {
	s := rtmpServe(t, nil)
	first := rtmpPush(t, s, "rtmp", "live", "s")
	second := rtmpDial(t, s, "rtmp", "live")
	if code := rtmpRefusal(second.c.Publish("s?key=other")); code != rtmp.PublishBadName {
		t.Errorf("a second publisher is refused with %s", code)
	}
	if err := first.send(rtmpClip()[:20]); err != nil {
		t.Error(err)
	}
	// The name is free again when the first has gone, without a goodbye.
	first.close()
	rtmpUntil(t, "the stream is over", func() bool { _, ok := s.host.Hub.Stream("live/s"); return !ok })
	rtmpPush(t, s, "rtmp", "live", "s")
}

func TestRTMPTakeOver(t *testing.T) {
	s := rtmpServe(t, func(c *relayConfig) { c.Takeover = config.TakeoverReplace })
	first := rtmpPush(t, s, "rtmp", "live", "s")
	if err := first.send(rtmpClip()[:20]); err != nil {
		t.Fatal(err)
	}
	viewer := rtmpDial(t, s, "rtmp", "live")
	if err := viewer.c.Play("s"); err != nil {
		t.Fatal(err)
	}
	// What is on its way when the second one comes is lost, and before the
	// viewer has something it would begin with the second one's key frame.
	rtmpUntil(t, "the first publisher's frames are there", func() bool {
		st, ok := s.host.Hub.Stream("live/s")
		return ok && st.Stats().FramesIn == 20
	})
	if _, _, err := viewer.receive(1); err != nil {
		t.Fatal(err)
	}
	second := rtmpPush(t, s, "rtmps", "live", "s")
	if err := second.send(rtmpClip()[:20]); err != nil {
		t.Fatal(err)
	}
	if _, code, err := first.receive(1); !errors.Is(err, io.EOF) || code != rtmp.PublishBadName {
		t.Errorf("the first publisher is told %q and %v", code, err)
	}
	frames, _, err := viewer.receive(29)
	if err != nil {
		t.Errorf("%d frames, then %v", len(frames), err)
	}
	last := uint32(0)
	for _, f := range frames {
		if f.Type == flv.TagVideo && f.Time < last {
			t.Errorf("time goes back from %d to %d", last, f.Time)
		} else if f.Type == flv.TagVideo {
			last = f.Time
		}
	}
	rtmpUntil(t, "one publisher is left", func() bool { return s.host.Register.Number(session.RolePublisher) == 1 })
}

func TestRTMPPublishAgainOnOneConnection(t *testing.T) {
	s := rtmpServe(t, nil)
	x := rtmpDial(t, s, "rtmp", "live")
	for range 50 {
		if err := x.c.Publish("s"); err != nil {
			t.Fatal(err)
		}
		if err := x.send(rtmpClip()[:10]); err != nil {
			t.Fatal(err)
		}
		rtmpUntil(t, "the stream has its frames", func() bool {
			st, ok := s.host.Hub.Stream("live/s")
			return ok && st.Stats().FramesIn == 10
		})
		if err := x.c.Close(); err != nil {
			t.Fatal(err)
		}
		rtmpUntil(t, "the stream is over", func() bool { _, ok := s.host.Hub.Stream("live/s"); return !ok })
	}
}
