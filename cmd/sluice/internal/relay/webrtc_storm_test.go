package relay

import (
	"testing"
	"time"

	"github.com/pion/rtcp"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
)

// A viewer that asks again and again for every packet and for key frames costs the others
// nothing, and plays on itself.
func TestWHEPStorms(t *testing.T) {
	s := rtcServe(t, func(c *relayConfig) { c.MinPublishRate = 0 })
	p := s.publishing(t, "/live/s.flv")
	tags := flvtest.Clip(t)
	p.send(t, tags[:len(tags)/2]...)
	s.streaming(t, "live/s")
	storm := s.rtcWatch(t, "/live/s/whep", rtcOptions{})
	calm := s.rtcWatch(t, "/live/s/whep", rtcOptions{})
	relayEventually(t, "pictures", func() bool { return len(storm.got(true)) > 0 && len(calm.got(true)) > 0 })
	ssrc := uint32(0)
	for _, r := range storm.pc.GetReceivers() {
		if track := r.Track(); track != nil && mediaFormat(track).Video {
			ssrc = uint32(track.SSRC())
		}
	}
	nack := &rtcp.TransportLayerNack{MediaSSRC: ssrc}
	for n := range uint16(250) {
		nack.Nacks = append(nack.Nacks, rtcp.NackPair{PacketID: n * 17, LostPackets: 0xffff})
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for range 3000 {
			if storm.pc.WriteRTCP([]rtcp.Packet{nack, &rtcp.PictureLossIndication{MediaSSRC: ssrc}, &rtcp.FullIntraRequest{MediaSSRC: ssrc}}) != nil {
				return
			}
		}
	}()
	before, began := len(storm.got(true)), time.Now()
	p.send(t, tags[len(tags)/2:]...)
	want := sumsOf(t, tags, true)
	relayEventually(t, "the last pictures", func() bool {
		got := calm.got(true)
		return len(got) > 0 && got[len(got)-1] == want[len(want)-1] || len(got) > len(want)/2
	})
	relayEventually(t, "pictures of the other", func() bool { return len(storm.got(true)) > before+20 })
	within(t, "pictures", calm.got(true), want)
	<-over
	t.Logf("%v for the storm, %d packets came to it, %d to the other", time.Since(began), storm.packets(), calm.packets())
}
