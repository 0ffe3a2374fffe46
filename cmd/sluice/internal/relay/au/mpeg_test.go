package au

import (
	"testing"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/mpeg1audio"
)

// Of the layers and rates that a library knows, headers say what it reads in them; layer I and MPEG-2.5, of
// which it knows nothing, are what encoders make.
func TestHeadersOfMPEGAudio(t *testing.T) {
	for i := range 1 << 24 / 64 {
		p := []byte{0xff, byte(i >> 10), byte(i >> 2), byte(i << 6), 0}
		var want mpeg1audio.FrameHeader
		if want.Unmarshal(p) != nil {
			continue
		}
		channels, size := 2, want.SampleCount()/8*want.Bitrate/want.SampleRate
		if want.ChannelMode == mpeg1audio.ChannelModeMono {
			channels = 1
		}
		if want.Padding {
			size++
		}
		if got, ok := ParseMPEGAudio(p); !ok || got != (MPEGAudio{int(want.Layer), want.SampleRate, channels, want.SampleCount(), size}) {
			t.Fatalf("% x: %+v, want %+v", p, got, want)
		}
	}
	for p, want := range map[[4]byte]MPEGAudio{
		{0xff, 0xe3, 0x40, 0xc0}: {3, 11025, 1, 576, 208}, // 32 kbit/s
		{0xff, 0xe3, 0x1a, 0x00}: {3, 8000, 2, 576, 73},   // 8 kbit/s, padded
		{0xff, 0xff, 0x82, 0xc0}: {1, 44100, 1, 384, 280}, // 256 kbit/s, padded
		{0xff, 0xf7, 0x94, 0x00}: {1, 24000, 2, 384, 288}, // 144 kbit/s
		{0xff, 0xeb, 0x40, 0xc0}: {},                      // a version that there is not
		{0xff, 0xfb, 0x00, 0xc0}: {},                      // without a bitrate
		{0xff, 0xf1, 0x50, 0x80}: {},                      // ADTS
	} {
		if got, ok := ParseMPEGAudio(p[:]); got != want || ok != (want.Rate > 0) {
			t.Errorf("% x: %+v, %v, want %+v", p, got, ok, want)
		}
	}
}
