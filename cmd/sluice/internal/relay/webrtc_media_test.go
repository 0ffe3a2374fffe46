package relay

import (
	"regexp"
	"strings"
	"testing"

	pion "github.com/pion/webrtc/v4"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/flv"
)

// withoutGroup leaves out the group of an offer.
func withoutGroup(offer string) string {
	return regexp.MustCompile(`a=group:[^\n]*\n`).ReplaceAllString(offer, "")
}

// plainH264 is what GStreamer's players offer with capabilities as its documentation has
// them: H.264, and no packetization mode.
func plainH264(m *pion.MediaEngine) error {
	c := pion.RTPCodecCapability{MimeType: pion.MimeTypeH264, ClockRate: 90000}
	return m.RegisterCodec(pion.RTPCodecParameters{RTPCodecCapability: c, PayloadType: 127}, pion.RTPCodecTypeVideo)
}

// saysWhatItIs checks that each medium of an answer has its name, a connection and a format
// that was offered, also one that is rejected: GStreamer, aiortc and werift take no answer
// without, nor any of its media then.
func saysWhatItIs(t *testing.T, offer, answer string) {
	t.Helper()
	media := strings.Split(offer, "\nm=")[1:]
	for i, m := range strings.Split(answer, "\nm=")[1:] {
		for _, name := range []string{"mid:", "ice-ufrag:", "ice-pwd:", "setup:passive", "rtcp-mux\r"} {
			if n := strings.Count(m, "\na="+name); n != 1 {
				t.Errorf("a=%s stands %d times in a medium of the answer %s", name, n, answer)
			}
		}
		if sends := strings.Contains(m, "\na=sendonly"); sends != strings.Contains(m, "\na=msid:") {
			t.Errorf("a medium of the answer sends: %v, in %s", sends, answer)
		}
		if described := regexp.MustCompile(`\na=rtpmap:[^\r]*`).FindString(m); described == "" || !strings.Contains(strings.ToLower(media[i]), strings.ToLower(described)) {
			t.Errorf("no format of the offer stands in a medium of the answer %s", answer)
		}
	}
}

// repeat returns a function that sends the next of these tags, again and again.
func (p *relayPipe) repeat(tags []flvtest.Tag) func(t *testing.T) {
	n, shift := 0, uint32(0)
	return func(t *testing.T) {
		t.Helper()
		if n == len(tags) {
			n, shift = 0, shift+tags[len(tags)-1].Time-tags[0].Time+20
		}
		g := tags[n]
		g.Time += shift
		p.send(t, g)
		n++
	}
}

// The first medium of an offer may be one that the stream does not have: the addresses of
// the server stand with one that it has. One medium needs no group.
func TestWHEPOfSomeMedia(t *testing.T) {
	sound := []flvtest.Tag{{Type: flv.TagAudio, Payload: "\x90Opus" + "OpusHead\x01\x02\x38\x01\x80\xbb\x00\x00\x00\x00\x00"}}
	for at := uint32(0); at < 4000; at += 20 {
		sound = append(sound, flvtest.Tag{Type: flv.TagAudio, Time: at, Payload: "\x91Opus\xfc\xff\xfe"})
	}
	const video, audio = pion.RTPCodecTypeVideo, pion.RTPCodecTypeAudio
	for _, c := range []struct {
		name    string
		tags    []flvtest.Tag
		kinds   []pion.RTPCodecType
		video   bool
		address []string
		change  func(offer string) string
		media   func(*pion.MediaEngine) error
	}{
		{"sound alone", sound, []pion.RTPCodecType{video, audio}, false, nil, nil, nil},
		{"pictures alone", flvtest.Clip(t), []pion.RTPCodecType{audio, video}, true, nil, nil, nil},
		{"pictures alone, with addresses that were set", flvtest.Clip(t), []pion.RTPCodecType{audio, video}, true, []string{"127.0.0.1"}, nil, nil},
		{"pictures in the only medium, without a group", flvtest.Clip(t), []pion.RTPCodecType{video}, true, nil, withoutGroup, nil},
		{"pictures as H.264 without parameters", flvtest.Clip(t), []pion.RTPCodecType{video}, true, nil, nil, plainH264},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := rtcServe(t, func(config *relayConfig) { config.WebRTCAddress, config.MinPublishRate = c.address, 0 })
			p := s.publishing(t, "/live/s.flv")
			half := len(c.tags) / 2
			p.send(t, c.tags[:half]...)
			s.streaming(t, "live/s")
			v := s.rtcWatch(t, "/live/s/whep", rtcOptions{pc: receivers(c.kinds...), change: c.change, media: c.media})
			if strings.Contains(v.pc.RemoteDescription().SDP, "a=group") == (c.change != nil) {
				t.Errorf("the answer is %s", v.pc.RemoteDescription().SDP)
			}
			if strings.Contains(v.pc.RemoteDescription().SDP, "\nm=video 0 ") || strings.Contains(v.pc.RemoteDescription().SDP, "\nm=audio 0 ") {
				t.Errorf("a medium is rejected whose codec is known: %s", v.pc.RemoteDescription().SDP)
			}
			saysWhatItIs(t, v.pc.LocalDescription().SDP, v.pc.RemoteDescription().SDP)
			// The viewer may be connected late: it goes on until there is something.
			next := p.repeat(c.tags[half:])
			relayEventually(t, "media", func() bool {
				next(t)
				return len(v.got(c.video)) > 0
			})
			p.Close()
		})
	}
}
