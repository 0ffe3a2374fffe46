package relay

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/pull"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/source"
	"github.com/sluice-go/sluice/internal/testcert"
)

// sourcedFast makes a server pull streams from addresses, with short timeouts.
func sourcedFast(t *testing.T, addresses ...string) func(*Server) {
	return func(s *Server) {
		p, err := pull.NewSources(s.host, addresses, nil, func(o *source.Options) {
			o.TLS = testcert.Client(t)
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
	near := rtmpServeWith(t, nil, sourcedFast(t, addresses...))
	clip := rtmpClip()
	p := rtmpPush(t, far, "rtmp", "live", "s")
	if err := p.send(clip[:200]); err != nil {
		t.Fatal(err)
	}
	puller := near.host.Puller.(*source.Puller)
	if n := far.host.Register.Number(session.RoleViewer); n != 0 || puller.Active() != 0 {
		t.Errorf("%d sources are pulled without viewers", n)
	}
	var watching sync.WaitGroup
	for i := range cameras {
		watching.Go(func() {
			x := rtmpDial(t, near, "rtmp", "live")
			if err := x.c.Play(fmt.Sprintf("cam%d?wait=60", i)); err != nil {
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

// A source that asks for a password, in clear and over TLS, and that comes back after its
// connection was lost.
func TestSourceThatComesBack(t *testing.T) {
	for _, scheme := range []string{"rtsp", "rtsps"} {
		t.Run(scheme, func(t *testing.T) {
			secret := strings.Repeat("s", access.MinSecret)
			far := rtmpServe(t, func(c *relayConfig) {
				c.RTSP, c.RTSPS = "127.0.0.1:0", "127.0.0.1:0"
				c.Protect, c.TokenSecret = []string{"play"}, secret
			})
			token := access.SignID([]byte(secret), access.Play, "live/s", "edge", time.Now().Add(time.Hour))
			user := token[:strings.LastIndexByte(token, '.')] + ":" + token
			near := rtmpServeWith(t, nil, sourcedFast(t, fmt.Sprintf("live/cam=always:%s://%s@%s/live/s", scheme, user, far.Addresses()[scheme])))
			first := rtmpPush(t, far, "rtmp", "live", "s")
			if err := first.send(rtmpClip()[:100]); err != nil {
				t.Fatal(err)
			}
			rtmpUntil(t, "the camera is there", func() bool {
				st, ok := near.host.Hub.Stream("live/cam")
				return ok && st.Stats().FramesIn > 20
			})
			viewer := func() (one *session.Client) {
				for _, c := range far.host.Register.List() {
					if c.Role == session.RoleViewer {
						one = c
					}
				}
				return one
			}
			lost := viewer()
			lost.Stop(session.ErrKicked)
			rtmpUntil(t, "the camera is connected again", func() bool { c := viewer(); return c != nil && c != lost })
			before, next := rtspFrames(near, "live/cam"), 100
			rtmpUntil(t, "the camera is there again", func() bool {
				if err := first.send(rtmpClip()[next : next+1]); err != nil {
					t.Fatal(err)
				}
				next = min(next+1, len(rtmpClip())-1)
				return rtspFrames(near, "live/cam") > before+20
			})
		})
	}
}
