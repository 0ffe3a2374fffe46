package relay

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/pull"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/source"
)

// sourcedFast makes a server pull streams from addresses, with short timeouts.
func sourcedFast(addresses ...string) func(*Server) {
	return func(s *Server) {
		p, err := pull.NewSources(s.host, addresses, nil, func(o *source.Options) {
			o.Linger, o.Retry, o.RetryMost = 100*time.Millisecond, time.Millisecond, 10*time.Millisecond
		})
		if err != nil {
			panic(err)
		}
		s.host.Puller = p
	}
}

func withRTSP(c *relayConfig) { c.RTSP = "127.0.0.1:0" }

// A camera here is another server, to which the clip is published.
func TestSourcesAreOnDemand(t *testing.T) {
	far := rtmpServe(t, withRTSP)
	const cameras = 20
	var addresses []string
	for i := range cameras {
		addresses = append(addresses, fmt.Sprintf("live/cam%d=rtsp://%s/live/s?wait=10", i, far.Addresses()["rtsp"]))
	}
	near := rtmpServeWith(t, nil, sourcedFast(addresses...))
	clip := rtmpClip()
	p := rtmpPush(t, far, "rtmp", "live", "s")
	if err := p.send(clip[:200]); err != nil {
		t.Fatal(err)
	}
	puller := near.host.Puller.(*source.Puller)
	if n := far.host.Register.Number(session.RoleViewer); n != 0 || puller.Active() != 0 {
		t.Errorf("%d sources are pulled that nobody watches", n)
	}
	var watching sync.WaitGroup
	for i := range cameras {
		watching.Go(func() {
			x := rtmpDial(t, near, "rtmp", "live")
			if err := x.c.Play(fmt.Sprintf("cam%d", i)); err != nil {
				t.Error(err)
				return
			}
			if frames, _, err := x.receive(50); err != nil || len(frames) < 50 {
				t.Errorf("camera %d: %d frames, %v", i, len(frames), err)
			}
			x.conn.Close()
		})
	}
	watching.Wait()
	rtmpUntil(t, "all cameras are let go", func() bool {
		return puller.Active() == 0 && far.host.Register.Number(session.RoleViewer) == 0
	})
}

func TestSourceThatComesBack(t *testing.T) {
	far := rtmpServe(t, withRTSP)
	near := rtmpServeWith(t, nil, sourcedFast("live/cam=always:rtsp://"+far.Addresses()["rtsp"]+"/live/s"))
	clip := rtmpClip()
	first := rtmpPush(t, far, "rtmp", "live", "s")
	if err := first.send(clip[:100]); err != nil {
		t.Fatal(err)
	}
	rtmpUntil(t, "the camera is there", func() bool { st, ok := near.host.Hub.Stream("live/cam"); return ok && st.Stats().FramesIn > 20 })
	st, _ := near.host.Hub.Stream("live/cam")
	for _, c := range far.host.Register.List() {
		if c.Role == session.RoleViewer {
			c.Stop(session.ErrKicked)
		}
	}
	before := st.Stats().FramesIn
	rtmpUntil(t, "the camera is there again", func() bool { return st.Stats().FramesIn > before+20 })
}
