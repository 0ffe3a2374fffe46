package relay

import (
	"testing"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	pion "github.com/pion/webrtc/v4"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// anySource is a track of which each packet has a source (SSRC) of its own.
type anySource struct {
	*pion.TrackLocalStaticRTP
	to   pion.TrackLocalWriter
	kind uint8
}

func (x *anySource) Bind(c pion.TrackLocalContext) (pion.RTPCodecParameters, error) {
	codec, err := x.TrackLocalStaticRTP.Bind(c)
	x.to, x.kind = c.WriteStream(), uint8(codec.PayloadType)
	return codec, err
}

// A client names more sources than it can have, in its media or in its reports: for each the
// library keeps a buffer as long as the session lives. The session ends, others go on.
func TestWebRTCOfManySources(t *testing.T) {
	s := rtcServe(t, func(c *relayConfig) { c.MinPublishRate = 0 })
	p := s.publishing(t, "/live/s.flv")
	tags := flvtest.Clip(t)
	p.send(t, tags[:len(tags)/2]...)
	s.streaming(t, "live/s")
	calm := s.rtcWatch(t, "/live/s/whep", rtcOptions{})
	viewer := s.rtcWatch(t, "/live/s/whep", rtcOptions{})
	relayEventually(t, "pictures", func() bool { return len(viewer.got(true)) > 0 && len(calm.got(true)) > 0 })

	source := uint32(0)
	reports := func(c *rtcClient) {
		var list []rtcp.Packet
		for range 50 {
			source++
			list = append(list, &rtcp.PictureLossIndication{MediaSSRC: source})
		}
		c.pc.WriteRTCP(list) // it fails when the session is over
	}
	relayEventually(t, "the viewer is ended", func() bool {
		reports(viewer)
		return s.host.Register.Number(session.RoleViewer) == 1
	})
	s.log.line(t, "viewer ended", "protocol=whep", "sources")

	static, err := pion.NewTrackLocalStaticRTP(pion.RTPCodecCapability{MimeType: pion.MimeTypeOpus, ClockRate: 48000, Channels: 2}, "sound", "test")
	if err != nil {
		t.Fatal(err)
	}
	sound := &anySource{TrackLocalStaticRTP: static}
	o := rtcOptions{pc: func(pc *pion.PeerConnection) error {
		_, err := pc.AddTransceiverFromTrack(sound, pion.RTPTransceiverInit{Direction: pion.RTPTransceiverDirectionSendonly})
		return err
	}}
	publisher := rtcNew(t, s, o)
	publisher.start("/live/p/whip", o)
	publisher.until(pion.PeerConnectionStateConnected)
	relayEventually(t, "it publishes", func() bool { return s.host.Register.Number(session.RolePublisher) == 2 })
	relayEventually(t, "the publisher is ended", func() bool {
		for range 50 {
			source++
			h := rtp.Header{Version: 2, PayloadType: sound.kind, SSRC: source}
			sound.to.WriteRTP(&h, []byte{0xf8, 0xff, 0xfe})
		}
		return s.host.Register.Number(session.RolePublisher) == 1
	})
	s.log.line(t, "publisher ended", "protocol=whip", "sources")

	before := len(calm.got(true))
	next := p.repeat(tags[len(tags)/2:])
	relayEventually(t, "more pictures", func() bool {
		next(t)
		return len(calm.got(true)) > before+20
	})
}
