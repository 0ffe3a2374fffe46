package relay

import (
	"os"
	"slices"
	"testing"
	"time"

	srt "github.com/datarhei/gosrt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// A viewer on a line that carries half of the stream is sent whole groups of pictures or
// their beginnings, and is not far behind; one on a line that just suffices is sent all.
func TestSRTOverASlowLine(t *testing.T) {
	if os.Getenv("SLUICE_LONG") == "" {
		t.Skip("set SLUICE_LONG: it takes as long as the clip, and a machine that stands still loses packets too")
	}
	const lag = 2 * time.Second
	s, address := startSRT(t, func(c *relayConfig) { c.times.Lag = lag })
	clip := srtClip()
	size, n := 0, clip.round*2
	for _, p := range clip.ts[:n] {
		size += len(p)
	}
	rate := float64(size) / (float64(clip.times[n-1]-clip.times[0]) / 1000)
	p := srtConnect(t, address, "publish:live/s", nil)
	sent := make(chan error, 1)
	go func() { sent <- srtSend(p, 0, n, 1) }()
	relayEventually(t, "the stream is there", func() bool { st, ok := s.host.Hub.Stream("live/s"); return ok && st.Stats().FramesIn > 5 })

	type viewer struct {
		share   float64
		conn    srt.Conn
		sink    *srtSink
		figures session.Figures
		lag     time.Duration
	}
	sessions := func() []*session.Client {
		return slices.DeleteFunc(s.host.Register.List(), func(c *session.Client) bool { return c.Role != session.RoleViewer })
	}
	viewers := []*viewer{{share: 0.5}, {share: 1.1}}
	for i, v := range viewers {
		line := srtNarrow(t, address, v.share*rate, 300*time.Millisecond)
		v.conn = srtConnect(t, line.address(), "live/s", srtShort)
		v.sink = srtReceive(v.conn)
		relayEventually(t, "the viewer is there", func() bool { return len(sessions()) == i+1 })
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for over := false; !over; {
		select {
		case err := <-sent:
			if over = true; err != nil {
				t.Fatal(err)
			}
		case <-tick.C:
		}
		now := sessions()
		if len(now) != len(viewers) {
			t.Fatalf("%d viewers", len(now))
		}
		for i, v := range viewers {
			v.figures = now[i].Figures()
			v.lag = max(v.lag, v.figures.Lag)
		}
	}
	p.Close()
	for _, v := range viewers {
		<-v.sink.done
		var stats srt.Statistics
		v.conn.Stats(&stats)
		a := &stats.Accumulated
		t.Logf("%v of the rate: %+v, at most %v behind; %d packets lost, %d dropped", v.share, v.figures, v.lag, a.PktRecvLoss, a.PktRecvDrop)
		if v.lag > lag {
			t.Errorf("%v of the rate: %v behind", v.share, v.lag)
		}
		if slow := v.share < 1; (v.figures.Jumps > 0) != slow || (v.figures.Dropped > 0) != slow {
			t.Errorf("%v of the rate: %d jumps, %d frames left out", v.share, v.figures.Jumps, v.figures.Dropped)
		}
		srtGroups(t, v.sink)
	}
}

// srtGroups checks that each picture that came is a key frame, or the one behind the one
// before.
func srtGroups(t *testing.T, k *srtSink) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	pictures := func(all []srtUnit) (some []srtUnit) {
		for _, u := range all {
			if u.video {
				some = append(some, u)
			}
		}
		return some
	}
	clip, came := pictures(srtClip().units[:srtClip().round]), pictures(k.units)
	at, keys := -1, 0
	for i, u := range came {
		n := slices.IndexFunc(clip, func(c srtUnit) bool { return c.media == u.media })
		switch {
		case n < 0:
			t.Errorf("picture %d of %d is none of the clip's", i, len(came))
			return
		case u.key:
			keys++
		case n != at+1:
			t.Errorf("picture %d of %d is %d of the clip, behind %d", i, len(came), n, at)
		}
		at = n
	}
	if keys < 3 {
		t.Errorf("%d groups of pictures", keys)
	}
}
