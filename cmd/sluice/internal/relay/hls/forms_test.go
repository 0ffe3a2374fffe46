package hls

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// What the library cannot write is no track, whatever the codec is.
func TestConfigurationsWithoutAForm(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	channels, err := au.NewAACConfig([]byte{0x12, 0x00}) // they stand among the frames
	if err != nil {
		t.Fatal(err)
	}
	broken := *video
	broken.Sets = [][]byte{{0x67, 0x64, 0, 0x0d, 0xff, 0xff}, {0x68, 0xcb, 0x83}}
	// That of SVT-AV1, with display delays.
	svt, err := au.NewAV1Config([]byte{0x0a, 0x0b, 2, 0, 0, 5, 0x21, 0xe7, 0xf6, 0x62, 0x57, 0xc8, 2})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		config *au.Config
		want   bool
	}{
		"pictures":                       {video, true},
		"AV1":                            {svt, true},
		"sound":                          {audio, true},
		"Opus":                           {au.NewOpusConfig(2), true},
		"Opus of six channels":           {au.NewOpusConfig(6), false},
		"G.711":                          {au.NewPlainConfig(flv.CodecALaw, 8000, 1), false},
		"AAC with channels among frames": {channels, false},
		"MP3":                            {au.NewPlainConfig(flv.CodecMP3, 44100, 2), false},
		"FLAC":                           {flacConfig(t, 44100, 2, 16, 4096), true},
		"FLAC without a rate":            {flacConfig(t, 0, 2, 16, 4096), false},
		"AC-3":                           {au.NewPlainConfig(flv.CodecAC3, 48000, 6), false},
		"a broken parameter set":         {&broken, false},
	} {
		kind := 1
		if c.config.Codec == flv.CodecAVC || c.config.Codec == flv.CodecAV1 {
			kind = 0
		}
		if got := hasForm(kind, c.config); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Playlists say how large pictures are where they are shown, and of high dynamic range which one it is: without it they
// would promise the standard one (rfc8216bis, section 4.4.6.2).
func TestPlaylistsSayHowPicturesAreShown(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	set := func(text string) []byte {
		p, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	// 720 × 576 pixels of 64:45, PQ.
	wide, err := au.NewVideoConfig(flv.CodecHEVC, [][]byte{
		set("40010c01ffff01600000030090000003000003003c959409"), set("4401c073c189"),
		set("4201010220000003000003000003000003005da005a200904d96b92f08ffc010000b5a8488048040"),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		video *au.Config
		want  string
	}{
		{wide, "RESOLUTION=1024x576,VIDEO-RANGE=PQ\n"},
		{video, "RESOLUTION=640x360\n"},
		{nil, "CODECS=\"mp4a.40.2\"\n"},
	} {
		in, err := newInitialization(c.video, audio)
		if err != nil {
			t.Fatal(err)
		}
		if text := multivariant([]variant{{address: "a", codecs: in.codecs, picture: in.picture}}); !strings.Contains(text, c.want) {
			t.Errorf("%q is not in\n%s", c.want, text)
		}
	}
}
