package relay

import (
	"os"
	"testing"
	"time"

	"github.com/pion/rtcp"
	pion "github.com/pion/webrtc/v4"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/flv"
)

// A viewer on a line that carries half of the stream is sent what that carries, and groups of
// pictures are left out; one on a line that just suffices, or that loses some packets, is sent
// all.
func TestWHEPOverASlowLine(t *testing.T) {
	if os.Getenv("SLUICE_LONG") == "" {
		t.Skip("set SLUICE_LONG: it takes 25 s, and a machine that stands still loses packets too")
	}
	const length = 25 * time.Second
	s := rtcServe(t, func(c *relayConfig) { c.times.Lag = slowLag })
	tags := flvtest.Clip(t)
	rate := tagsRate(tags)
	p := s.publishing(t, "/live/s.flv")
	sent := p.rounds(t, tags, length)
	s.streaming(t, "live/s")
	address := s.Addresses()["webrtc"]
	lines := []struct {
		name, server string
		slow         bool
		least        float64 // of the pictures can be decoded
	}{
		{"half of the stream", srtNarrow(t, address, 0.5*rate, 300*time.Millisecond).address(), true, 0.1},
		{"1.5 of the stream", srtNarrow(t, address, 1.5*rate, 300*time.Millisecond).address(), false, 0.75},
		{"4 % lost", newLossy(t, address, 4).address(), false, 0.75},
	}
	var viewers []*rtcClient
	for i, l := range lines {
		viewers = append(viewers, s.rtcWatch(t, "/live/s/whep", rtcOptions{server: l.server}))
		relayEventually(t, "the viewer is there", func() bool { return len(s.viewers()) == i+1 })
	}
	list := s.watchViewers(sent)
	all := sumsOf(t, tags, true)
	want := int(float64(len(all)) * float64(length) / float64(tagsLength(tags)))
	for i, v := range viewers {
		l, whole := lines[i], v.got(true)
		good := decodable(t, tags, all, whole)
		t.Logf("%s: %+v; of %d pictures %d are whole and %d can be decoded", l.name, list[i], want, len(whole), good)
		list[i].judge(t, l.name, l.slow, good, l.least*float64(want))
	}
	p.Close()
}

// rtcRound sends a clip at its pace, again and again, while more says so.
func rtcRound(t *testing.T, p *relayPipe, tags []flvtest.Tag, more func() bool) {
	begun, end := time.Now(), tags[len(tags)-1].Time+20
	for round := uint32(0); ; round++ {
		for _, g := range tags {
			if round > 0 && flvConfig(g) {
				continue
			}
			g.Time += round * end
			<-time.After(time.Until(begun.Add(time.Duration(g.Time) * time.Millisecond)))
			if !more() {
				return
			}
			p.send(t, g)
		}
	}
}

// flvConfig reports whether a tag is no media.
func flvConfig(g flvtest.Tag) bool {
	h, err := flv.ParseVideo([]byte(g.Payload))
	return g.Type == flv.TagVideo && err == nil && h.Config() || g.Type == flv.TagScript
}

// What a viewer's reports say of its line is heard: pictures are left out for one that misses
// half of the packets.
func TestWHEPHearsOfLosses(t *testing.T) {
	s := rtcServe(t, func(c *relayConfig) { c.times.Lag = 200 * time.Millisecond })
	p := s.publishing(t, "/live/s.flv")
	var v *rtcClient
	var figures session.Figures
	late := time.Now().Add(relayWait)
	rtcRound(t, p, flvtest.Clip(t), func() bool {
		st, ok := s.host.Hub.Stream("live/s")
		switch {
		case time.Now().After(late):
			t.Fatalf("no pictures are left out: %+v", figures)
		case v == nil && ok && st.Stats().FramesIn > 50:
			v = s.rtcWatch(t, "/live/s/whep", rtcOptions{})
			return true
		case v == nil || v.packets() == 0:
			return true
		}
		var list []rtcp.ReceptionReport
		for _, r := range v.pc.GetReceivers() {
			if r.Track() != nil && r.Track().Kind() == pion.RTPCodecTypeVideo {
				v.mu.Lock()
				last := v.last
				v.mu.Unlock()
				list = append(list, rtcp.ReceptionReport{SSRC: uint32(r.Track().SSRC()), LastSequenceNumber: uint32(last), FractionLost: 128})
			}
		}
		if err := v.pc.WriteRTCP([]rtcp.Packet{&rtcp.ReceiverReport{SSRC: 1, Reports: list}}); err != nil {
			t.Fatal(err)
		}
		for _, c := range s.host.Register.List() {
			if c.Role == session.RoleViewer {
				figures = c.Figures()
			}
		}
		return figures.Jumps == 0 || figures.Dropped == 0
	})
	t.Logf("%+v", figures)
	p.Close()
}
