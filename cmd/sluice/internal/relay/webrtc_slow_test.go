package relay

import (
	"os"
	"slices"
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
	const (
		rounds = 25 * time.Second
		lag    = 2 * time.Second
	)
	s := rtcServe(t, func(c *relayConfig) { c.times.Lag = lag })
	tags := flvtest.Clip(t)
	size := 0
	for _, g := range tags {
		size += len(g.Payload)
	}
	end := tags[len(tags)-1].Time + 20
	rate := float64(size) / (float64(end) / 1000)
	p := s.publishing(t, "/live/s.flv")
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		begun := time.Now()
		rtcRound(t, p, tags, func() bool { return time.Since(begun) < rounds })
	}()
	s.streaming(t, "live/s")
	sessions := func() []*session.Client {
		return slices.DeleteFunc(s.host.Register.List(), func(c *session.Client) bool { return c.Role != session.RoleViewer })
	}
	address := s.Addresses()["webrtc"]
	servers := []string{
		srtNarrow(t, address, 0.5*rate, 300*time.Millisecond).address(),
		srtNarrow(t, address, 1.5*rate, 300*time.Millisecond).address(),
		newLossy(t, address, 4).address(),
	}
	var viewers []*rtcClient
	for i, server := range servers {
		viewers = append(viewers, s.rtcWatch(t, "/live/s/whep", rtcOptions{server: server}))
		relayEventually(t, "the viewer is there", func() bool { return len(sessions()) == i+1 })
	}
	figures, late := make([]session.Figures, len(viewers)), make([]time.Duration, len(viewers))
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for over := false; !over; {
		select {
		case <-sent:
			over = true
		case <-tick.C:
		}
		for i, c := range sessions() {
			figures[i] = c.Figures()
			late[i] = max(late[i], figures[i].Lag)
		}
	}
	all, keys := sumsOf(t, tags, true), map[string]bool{}
	for _, g := range tags {
		if h, err := flv.ParseVideo([]byte(g.Payload)); g.Type == flv.TagVideo && err == nil && h.Key() && !h.Config() {
			keys[sumsOf(t, []flvtest.Tag{g}, true)[0]] = true
		}
	}
	want := int(float64(len(all)) * float64(rounds) / float64(time.Duration(end)*time.Millisecond))
	for i, v := range viewers {
		whole, at, good := v.got(true), -2, 0 // pictures, and those that can be decoded
		for _, sum := range whole {
			n := slices.Index(all, sum)
			if keys[sum] || n == at+1 || n == 0 {
				at = n
				good++
			}
		}
		t.Logf("viewer %d: %+v, at most %v behind; of %d pictures %d are whole and %d can be decoded", i, figures[i], late[i], want, len(whole), good)
		if slow := i == 0; (figures[i].Jumps > 0) != slow || (figures[i].Dropped > 0) != slow || good < want/6 || !slow && good < want*3/4 || late[i] > lag {
			t.Errorf("viewer %d: %+v", i, figures[i])
		}
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
