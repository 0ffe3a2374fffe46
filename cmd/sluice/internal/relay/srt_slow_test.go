package relay

import (
	"bytes"
	"fmt"
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
	s, address := startSRT(t, func(c *relayConfig) { c.times.Lag = slowLag })
	clip := srtClip()
	size, n := 0, clip.round*2
	for _, p := range clip.ts[:n] {
		size += len(p)
	}
	rate := float64(size) / (float64(clip.times[n-1]-clip.times[0]) / 1000)
	p := srtConnect(t, address, "publish:live/s", nil)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		if err := srtSend(p, 0, n, 1); err != nil {
			t.Error(err)
		}
	}()
	relayEventually(t, "the stream is there", func() bool { st, ok := s.host.Hub.Stream("live/s"); return ok && st.Stats().FramesIn > 5 })

	shares := []float64{0.5, 1.2}
	var sinks []*srtSink
	var conns []srt.Conn
	for i, share := range shares {
		line := srtNarrow(t, address, share*rate, 300*time.Millisecond)
		conns = append(conns, srtConnect(t, line.address(), "live/s", srtShort))
		sinks = append(sinks, srtReceive(conns[i]))
		relayEventually(t, "the viewer is there", func() bool { return len(s.viewers()) == i+1 })
	}
	list := s.watchViewers(sent)
	p.Close()
	for i, share := range shares {
		<-sinks[i].done
		var stats srt.Statistics
		conns[i].Stats(&stats)
		a := &stats.Accumulated
		name := fmt.Sprintf("%v of the rate", share)
		t.Logf("%s: %+v; %d packets lost, %d dropped", name, list[i], a.PktRecvLoss, a.PktRecvDrop)
		list[i].judge(t, name, share < 1, 0, 0)
		if list[i].calm() {
			srtGroups(t, sinks[i])
		}
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
	came = came[:max(len(came)-1, 0)] // the publisher's end may have cut the last
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

// A publisher whose encoder stands still is ended for its rate, though its sender fills the line
// with tables and with packets of nothing.
func TestSRTPublisherOfNothingIsTooSlow(t *testing.T) {
	s, address := startSRT(t, func(c *relayConfig) {
		c.times.Rate, c.times.Silence, c.times.Step = 300*time.Millisecond, relayWait, 20*time.Millisecond
		c.MinPublishRate = 512
	})
	p := srtConnect(t, address, "publish:live/s", srtShort)
	tables := srtClip().ts[0][:2*188]
	packets := bytes.Clone(tables)
	for range 5 {
		packets = append(packets, append([]byte{0x47, 0x1f, 0xff, 0x10}, bytes.Repeat([]byte{0xff}, 184)...)...)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	relayEventually(t, "the publisher is ended as too slow", func() bool {
		<-tick.C
		_, _ = p.Write(packets)
		return s.host.Register.Totals().Ended[session.Outcome{Role: session.RolePublisher, Code: session.Code(session.ErrTooSlow)}] == 1
	})
}
