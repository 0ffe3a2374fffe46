//go:build linux

package realtest

import (
	"encoding/json"
	"strconv"
	"testing"
)

// probedStream is what ffprobe says of a stream; some of its numbers are texts.
type probedStream struct {
	Type     string `json:"codec_type"`
	Codec    string `json:"codec_name"`
	Packets  string `json:"nb_read_packets"`
	Width    int
	Height   int
	Rate     string `json:"sample_rate"`
	Channels int
}

// codecNames are ffprobe's for those of sluice flv probe.
var codecNames = map[string]string{"avc1": "h264", "mp4a": "aac"}

// checkProbe holds what sluice flv probe prints against ffprobe's streams.
func checkProbe(t *testing.T, text string, theirs []probedStream) {
	t.Helper()
	var ours struct {
		Video, Audio *struct {
			Codec                         string
			Packets                       int
			Width, Height, Rate, Channels int
		}
	}
	if err := json.Unmarshal([]byte(text), &ours); err != nil {
		t.Fatalf("sluice flv probe: %v: %s", err, text)
	}
	if ours.Video == nil || ours.Audio == nil {
		t.Fatalf("sluice flv probe finds no video or no audio: %s", text)
	}
	var got, want [2]probedStream
	for i, s := range []struct {
		Codec                         string
		Packets                       int
		Width, Height, Rate, Channels int
	}{*ours.Video, *ours.Audio} {
		got[i] = probedStream{
			Codec: codecNames[s.Codec], Packets: strconv.Itoa(s.Packets),
			Width: s.Width, Height: s.Height, Channels: s.Channels,
		}
		if s.Rate > 0 {
			got[i].Rate = strconv.Itoa(s.Rate)
		}
	}
	got[0].Type, got[1].Type = "video", "audio"
	for _, s := range theirs {
		switch s.Type {
		case "video":
			want[0] = s
		case "audio":
			want[1] = s
		}
	}
	if got != want {
		t.Errorf("sluice flv probe says %+v, ffprobe %+v", got, want)
	}
}
