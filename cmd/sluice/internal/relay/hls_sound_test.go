package relay

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/flv"
)

// Sound that the publisher has announced and that begins later is silence until then, and no discontinuity when it begins:
// players such as hls.js and those of ffmpeg take no other tracks than those that they began with.
func TestHLSSoundThatBeginsLater(t *testing.T) {
	opus := flvtest.Tag{Type: flv.TagScript, Payload: "\x02\x00\x0aonMetaData\x08\x00\x00\x00\x02\x00\x0cvideocodecid\x00\x40\x1c\x00\x00\x00\x00\x00\x00" +
		"\x00\x0caudiocodecid\x00\x41\xd3\xdc\x1d\x5c\xc0\x00\x00\x00\x00\x09"} // 0x4f707573
	for name, c := range map[string]struct {
		codec string
		tags  func([]flvtest.Tag) (silent, whole []flvtest.Tag)
	}{
		"AAC, by its sequence header": {"mp4a.40.2", func(clip []flvtest.Tag) (silent, whole []flvtest.Tag) {
			for _, g := range clip {
				if g.Type != flv.TagAudio || g.Payload[1] == 0 {
					silent = append(silent, g)
				}
			}
			return silent, clip
		}},
		"Opus, by the metadata": {"opus", func(clip []flvtest.Tag) (silent, whole []flvtest.Tag) {
			silent = append(silent, opus)
			for _, g := range clip {
				if g.Type == flv.TagVideo {
					silent = append(silent, g)
				}
			}
			whole = append(whole, silent...)
			for at := uint32(0); at < clip[len(clip)-1].Time; at += 20 {
				whole = append(whole, flvtest.Tag{Type: flv.TagAudio, Time: at, Payload: "\x91Opus\xfc\xff\xfe"})
			}
			return silent, whole
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := hlsServe(t, nil)
			f := s.feeding(t, "/live/s.flv")
			silent, whole := c.tags(f.clip)
			f.clip = silent
			f.loop(t)
			s.awaitStream(t, "live/s")
			status, text := 0, ""
			f.during(t, func() { status, text = s.get(t, "/live/s.m3u8") })
			if status != http.StatusOK || !strings.Contains(text, `CODECS="avc1.`) || !strings.Contains(text, c.codec) {
				t.Fatalf("%d, the playlist is %s", status, text)
			}
			v := s.watchHLS(t, "/live/s.m3u8")
			f.clip = whole
			for range 3 {
				f.loop(t)
			}
			for _, g := range v.settled(t).Segments {
				if g.Discontinuity {
					t.Errorf("segment %s is behind a discontinuity", g.URI)
				}
			}
		})
	}
}
