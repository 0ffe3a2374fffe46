package hls

import (
	"bytes"
	"os/exec"
	"testing"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/flac"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/mpeg4audio"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// flacConfig is a configuration of FLAC; block is the number of samples of each frame, 0: they differ.
func flacConfig(t *testing.T, rate uint32, channels, bits uint8, block uint16) *au.Config {
	t.Helper()
	info := flac.StreamInfo{MinBlockSize: block, MaxBlockSize: block, SampleRate: rate, ChannelCount: channels, BitDepth: bits}
	if block == 0 {
		info.MinBlockSize, info.MaxBlockSize = 16, 65535
	}
	p, err := info.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	c, err := au.ParseConfig(flv.CodecFLAC, append([]byte("fLaC\x80\x00\x00\x22"), p...))
	if err != nil {
		return &au.Config{Codec: flv.CodecFLAC, Record: p} // refused before it comes here
	}
	return c
}

// Recordings are played as they are: also with sound that streams are carried without.
func TestNamesOfSoundForPlaylists(t *testing.T) {
	for codec, want := range map[flv.FourCC]string{
		flv.CodecMP3: "mp4a.6B", flv.CodecAC3: "ac-3", flv.CodecFLAC: "fLaC", flv.CodecOpus: "opus", flv.CodecVP9: "", flv.CodecALaw: "",
	} {
		if got := codecName(&au.Config{Codec: codec}); got != want {
			t.Errorf("%v: %q, want %q", codec, got, want)
		}
	}
}

// A decoder that checks everything decodes frames of silence, to as many samples as they say, all 0.
func TestSilentFLACIsDecoded(t *testing.T) {
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("ffmpeg is not installed")
	}
	const frames = 5
	for what, c := range map[string]*au.Config{
		"16 bits":          flacConfig(t, 44100, 2, 16, 4096),
		"24 bits":          flacConfig(t, 96000, 6, 24, 0),
		"mono, 8 kHz":      flacConfig(t, 8000, 1, 16, 192),
		"blocks of 65,535": flacConfig(t, 48000, 8, 16, 65535),
	} {
		one := silence(c)
		cmd := exec.Command(ffmpeg, "-v", "error", "-xerror", "-err_detect", "crccheck+explode", "-f", "flac", "-i", "-", "-f", "s16le", "-")
		cmd.Stdin = bytes.NewReader(append(bytes.Clone(c.Record), bytes.Repeat(one, frames)...))
		var wrong bytes.Buffer
		cmd.Stderr = &wrong
		out, err := cmd.Output()
		if err != nil || wrong.Len() > 0 {
			t.Errorf("%s: %v %s", what, err, &wrong)
		}
		if want := frames * c.Samples(one) * c.Channels * 2; len(out) != want {
			t.Errorf("%s: %d bytes of samples, want %d", what, len(out), want)
		}
		if len(bytes.Trim(out, "\x00")) > 0 {
			t.Errorf("%s: it is not silent", what)
		}
	}
}

// Nor is there an error in silence of AAC, here with a channel of low frequencies.
func TestSilentAACOfSixChannelsIsDecoded(t *testing.T) {
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("ffmpeg is not installed")
	}
	const frames, samples, channels = 5, 1024, 6
	c, err := au.NewAACConfig([]byte("\x11\xb0"))
	if err != nil {
		t.Fatal(err)
	}
	packets := mpeg4audio.ADTSPackets{{Type: mpeg4audio.ObjectTypeAACLC, SampleRate: 48000, ChannelConfig: channels, AU: silence(c)}}
	p, err := packets.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(ffmpeg, "-v", "error", "-xerror", "-err_detect", "explode", "-f", "aac", "-i", "-", "-f", "s16le", "-")
	cmd.Stdin = bytes.NewReader(bytes.Repeat(p, frames))
	var wrong bytes.Buffer
	cmd.Stderr = &wrong
	out, err := cmd.Output()
	if err != nil || wrong.Len() > 0 || len(out) != frames*samples*channels*2 || len(bytes.Trim(out, "\x00")) > 0 {
		t.Errorf("%v, %d bytes of samples: %s", err, len(out), &wrong)
	}
}
