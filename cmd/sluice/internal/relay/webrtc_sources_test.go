package relay

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	pion "github.com/pion/webrtc/v4"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpfeed"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/flv"
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

// A client with layers names none of its sources, and measures its line first, by packets that are sent again: those
// are not its pictures, and what it sends again of these is in its place.
func TestWHIPOfUnnamedSources(t *testing.T) {
	s := rtcServe(t, func(c *relayConfig) { c.MinPublishRate = 0 })
	static, err := pion.NewTrackLocalStaticRTP(pion.RTPCodecCapability{MimeType: pion.MimeTypeH264, ClockRate: 90000, SDPFmtpLine: "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"}, "v", "s")
	if err != nil {
		t.Fatal(err)
	}
	x := &anySource{TrackLocalStaticRTP: static}
	var offered string
	o := rtcOptions{
		pc: func(pc *pion.PeerConnection) error {
			_, err := pc.AddTransceiverFromTrack(x, pion.RTPTransceiverInit{Direction: pion.RTPTransceiverDirectionSendonly})
			return err
		},
		change: func(offer string) string {
			offered = regexp.MustCompile(`(?m)^a=ssrc.*\n`).ReplaceAllString(offer, "")
			return offered
		},
	}
	c := rtcNew(t, s, o)
	c.start("/live/p/whip", o)
	c.until(pion.PeerConnectionStateConnected)
	m := regexp.MustCompile(fmt.Sprintf(`a=fmtp:(\d+) apt=%d\r`, x.kind)).FindStringSubmatch(offered)
	if m == nil {
		t.Fatal(offered)
	}
	repair, _ := strconv.Atoi(m[1])
	const source, repairs = 0x1111, 0x2222
	sent := uint16(0)
	again := func(h rtp.Header, payload []byte) {
		payload = append(binary.BigEndian.AppendUint16(nil, h.SequenceNumber), payload...)
		h.PayloadType, h.SSRC, h.SequenceNumber = uint8(repair), repairs, sent
		sent++
		if _, err := x.to.WriteRTP(&h, payload); err != nil {
			t.Fatal(err)
		}
	}
	first := rtp.Header{Version: 2, SequenceNumber: 9}
	relayEventually(t, "the first source is heard", func() bool {
		again(first, []byte{0})
		return s.host.Register.Number(session.RolePublisher) == 1 && sent > 20
	})

	muxer, tags := rtpmedia.NewMuxer([]rtpmedia.Format{{Video: true, Codec: flv.CodecAVC, PayloadType: x.kind, Clock: 90000}}), flvtest.Clip(t)
	muxer.Limit(1100)
	var cutter rtpfeed.Cutter
	var splitter au.Splitter
	n, shift := 0, uint32(0)
	relayEventually(t, "most pictures", func() bool {
		pace := time.NewTicker(3 * time.Millisecond)
		defer pace.Stop()
		for _, g := range tags {
			u, ok, err := splitter.Split(g.Type, g.Time+shift, []byte(g.Payload))
			if err != nil || !ok || !u.Video {
				continue
			}
			<-pace.C
			p, err := muxer.Append(nil, &u, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			cutter.Cut(p, func(channel byte, packet []byte) bool {
				var one rtp.Packet
				if channel != 0 || one.Unmarshal(packet) != nil {
					return true
				}
				one.SSRC = source
				if n++; n%10 == 0 {
					again(one.Header, one.Payload)
				} else if _, err := x.to.WriteRTP(&one.Header, one.Payload); err != nil {
					t.Fatal(err)
				}
				return true
			})
		}
		shift += tags[len(tags)-1].Time + 40
		st, ok := s.host.Hub.Stream("live/p")
		return ok && st.Stats().FramesIn > 100
	})
}
