package web

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// Every track is listed with what its own header says, also those that share a
// packet (enhanced RTMP v2).
func TestTracks(t *testing.T) {
	const (
		vp9   = "\x01\x00\x00\x00\x00\x1f\x80\x02\x02\x02\x00\x00"
		aac48 = "\x11\x90" // 48 kHz, stereo
		aac44 = "\x12\x08" // 44.1 kHz, mono
		opus  = "OpusHead\x01\x02\x38\x01\x80\xbb\x00\x00\x00\x00\x00"
	)
	sized := func(config string) string { return "\x00\x00" + string(rune(len(config))) + config }
	for _, c := range []struct {
		name string
		tags []string // type, and payload
		want string
	}{
		{"none", nil, ``},
		{"classic", []string{"\x08\xaf\x00" + aac48}, `audio 0 mp4a 48000`},
		{"one track a packet", []string{
			"\x08\x95\x00mp4a\x00" + aac48, "\x08\x95\x00Opus\x03" + opus, "\x09\x96\x00vp09\x01" + vp9, "\x09\x96\x00vp09\x00" + vp9,
		}, `video 0 vp09 0, video 1 vp09 0, audio 0 mp4a 48000, audio 3 Opus 48000`},
		{"many of one codec", []string{"\x08\x95\x10mp4a\x00" + sized(aac48) + "\x01" + sized(aac44)},
			`audio 0 mp4a 48000, audio 1 mp4a 44100`},
		{"many codecs", []string{"\x08\x95\x20mp4a\x00" + sized(aac44) + "Opus\x01" + sized(opus) + "mp4a\x02" + sized(aac48)},
			`audio 0 mp4a 44100, audio 1 Opus 48000, audio 2 mp4a 48000`},
		{"neither header nor metadata", []string{"\x09\x12\x00\x00\x84", "\x08\x2f\xff\xfb\x94\x64\x00\x00"}, `video 0 FLV1 0, audio 0 .mp3 48000`},
		{"metadata that says a codec alone", []string{
			"\x12\x02\x00\x0aonMetaData\x08\x00\x00\x00\x01\x00\x0caudiocodecid\x00\x40\x00\x00\x00\x00\x00\x00\x00\x00\x00\x09", "\x08\x2f\xff\xfb\x94\x64\x00\x00",
		}, `audio 0 .mp3 48000`},
		{"metadata that says a codec by its four letters, and nothing of it yet", []string{
			"\x12\x02\x00\x0aonMetaData\x08\x00\x00\x00\x01\x00\x0caudiocodecid\x00\x41\xd3\xdc\x1d\x5c\xc0\x00\x00\x00\x00\x09",
		}, `audio 0 Opus 0`},
		{"cut off", []string{"\x08\x95\x20mp4a\x00" + sized(aac44) + "Opus\x01\x00\x10\x00x"}, `audio 0 mp4a 44100`},
	} {
		h := live.NewHub(live.HubOptions{})
		p, err := h.Publish("live/s", live.PublishOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, tag := range c.tags {
			if err := p.Publish(live.Frame{Type: flv.TagType(tag[0]), Payload: mem.Wrap([]byte(tag[1:]), nil)}); err != nil {
				t.Fatal(err)
			}
		}
		video, audio := mediaInfo(p.Stream(), p.Stream().Stats())
		text, err := json.Marshal(tracksOf(p.Stream(), video, audio))
		if err != nil {
			t.Fatal(err)
		}
		var list []struct {
			Kind, Codec string
			Track, Rate json.Number
		}
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range list {
			if l.Rate == "" {
				l.Rate = "0"
			}
			got = append(got, strings.Join([]string{l.Kind, l.Track.String(), l.Codec, l.Rate.String()}, " "))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %s, want %s", c.name, text, c.want)
		}
		h.Close()
	}
}
