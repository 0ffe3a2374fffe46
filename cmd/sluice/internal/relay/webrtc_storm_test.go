package relay

import (
	"testing"

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
	// Some datagrams are lost on a busy machine: pictures go on, not all of them come.
	before := [2]int{len(storm.got(true)), len(calm.got(true))}
	next := p.repeat(tags[len(tags)/2:])
	relayEventually(t, "more pictures", func() bool {
		next(t)
		return len(storm.got(true)) > before[0]+10 && len(calm.got(true)) > before[1]+10
	})
	<-over
	t.Logf("%d packets came to the one that storms, %d to the other", storm.packets(), calm.packets())
}
