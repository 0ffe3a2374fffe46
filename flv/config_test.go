package flv_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvclip"
)

// TestVideoConfigsThatEncodersWrite parses what ffmpeg's encoders wrote for
// pictures of known sizes, some of which need cropping.
func TestVideoConfigsThatEncodersWrite(t *testing.T) {
	for _, c := range []struct {
		codec         flv.FourCC
		box           string
		width, height int
		rate          string
		frameRate     float64
		args          string
	}{
		{flv.CodecAVC, "avcC", 640, 360, "30", 30, "-pix_fmt yuv420p -c:v libx264 -preset ultrafast"},
		{flv.CodecAVC, "avcC", 1922, 1082, "25", 25, "-pix_fmt yuv420p -c:v libx264 -preset ultrafast"},
		{flv.CodecAVC, "avcC", 98, 66, "60000/1001", 59.94, "-pix_fmt yuv420p -c:v libx264 -profile:v high"},
		{flv.CodecAVC, "avcC", 99, 65, "24", 24, "-c:v libx264 -pix_fmt yuv444p -x264-params cqm=jvt"},
		{flv.CodecAVC, "avcC", 96, 68, "25", 25, "-c:v libx264 -pix_fmt yuv420p -flags +ilme+ildct -x264-params cqm=jvt:sar=4/3:overscan=show:fullrange=on:colorprim=bt709:chromaloc=2"},
		{flv.CodecAVC, "avcC", 96, 64, "25", 25, "-c:v libx264 -pix_fmt yuv422p10le"},
		{flv.CodecHEVC, "hvcC", 320, 240, "30", 0, "-pix_fmt yuv420p -c:v libx265 -x265-params log-level=none"},
		{flv.CodecHEVC, "hvcC", 1282, 722, "30", 0, "-pix_fmt yuv420p -c:v libx265 -preset ultrafast -x265-params log-level=none"},
		{flv.CodecHEVC, "hvcC", 99, 65, "30", 0, "-c:v libx265 -pix_fmt yuv444p -x265-params log-level=none:temporal-layers=2"},
		{flv.CodecAV1, "av1C", 322, 182, "25", 0, "-pix_fmt yuv420p -c:v libaom-av1 -cpu-used 8 -usage realtime"},
	} {
		name := fmt.Sprintf("%s %dx%d %s", c.codec, c.width, c.height, c.args)
		_, file := flvMake(t, "a.mp4", fmt.Sprintf("-f lavfi -i testsrc=size=%dx%d:rate=%s -frames:v 2 %s", c.width, c.height, c.rate, c.args))
		p := flvBox(t, file, c.box)
		got, err := flv.ParseVideoConfig(c.codec, p)
		if err != nil || got.Codec != c.codec || got.Width != c.width || got.Height != c.height || got.FrameRate < c.frameRate-0.01 || got.FrameRate > c.frameRate+0.01 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		for n := range p {
			got, err := flv.ParseVideoConfig(c.codec, p[:n])
			if err == nil && got.Width > 0 && (got.Width != c.width || got.Height != c.height) {
				t.Errorf("%s: %d of %d bytes are %+v", name, n, len(p), got)
			}
			if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, flv.ErrSyntax) {
				t.Errorf("%s: %d of %d bytes: %v", name, n, len(p), err)
			}
		}
	}
}

// clipConfigs are the bodies of the clip's sequence headers.
func clipConfigs(t testing.TB) (video, audio []byte) {
	for _, tag := range walkClip() {
		p := []byte(tag.payload)
		switch tag.header.Type {
		case flv.TagVideo:
			if h, err := flv.ParseVideo(p); err == nil && h.Config() && video == nil {
				video = h.Body(p)
			}
		case flv.TagAudio:
			if h, err := flv.ParseAudio(p); err == nil && h.Config() {
				audio = h.Body(p)
			}
		}
	}
	if video == nil || audio == nil {
		t.Fatalf("the clip of %d bytes has no sequence headers", len(flvclip.File))
	}
	return video, audio
}

func TestConfigsOfTheClip(t *testing.T) {
	video, audio := clipConfigs(t)
	v, err := flv.ParseVideoConfig(flv.CodecAVC, video)
	if want := (flv.VideoConfig{Codec: flv.CodecAVC, Profile: 100, Level: 30, Width: 640, Height: 360, FrameRate: 30}); err != nil || v != want {
		t.Errorf("%+v, %v", v, err)
	}
	a, err := flv.ParseAudioConfig(flv.CodecAAC, audio)
	if want := (flv.AudioConfig{Codec: flv.CodecAAC, ObjectType: 2, Rate: 44100, Channels: 1}); err != nil || a != want {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestAudioConfigs(t *testing.T) {
	stream := "fLaC\x80\x00\x00\x22" + "\x10\x00\x10\x00\x00\x00\x00\x00\x00\x00" + "\x0b\xb8\x02\xf0" + "01234567890123456789"
	for _, c := range []struct {
		codec flv.FourCC
		wire  string
		want  flv.AudioConfig
	}{
		{flv.CodecAAC, "\x11\x90", flv.AudioConfig{ObjectType: 2, Rate: 48000, Channels: 2}},
		{flv.CodecAAC, "\x12\x38", flv.AudioConfig{ObjectType: 2, Rate: 44100, Channels: 8}},
		{flv.CodecAAC, "\x2b\x11\x88\x00", flv.AudioConfig{ObjectType: 2, Rate: 48000, Channels: 2}},     // SBR on 24 kHz
		{flv.CodecAAC, "\xeb\x09\x88\x00", flv.AudioConfig{ObjectType: 2, Rate: 48000, Channels: 2}},     // PS on 24 kHz mono
		{flv.CodecAAC, "\x17\x80\x5d\xc0\x10", flv.AudioConfig{ObjectType: 2, Rate: 48000, Channels: 2}}, // a rate spelled out
		{flv.CodecOpus, "OpusHead\x01\x02\x38\x01\x80\xbb\x00\x00\x00\x00\x00", flv.AudioConfig{Rate: 48000, Channels: 2}},
		{flv.CodecFLAC, stream, flv.AudioConfig{Rate: 48000, Channels: 2}},
		{flv.CodecFLAC, stream[8:], flv.AudioConfig{Rate: 48000, Channels: 2}}, // as ffmpeg has it
		{flv.CodecAC3, "", flv.AudioConfig{}},
	} {
		c.want.Codec = c.codec
		if got, err := flv.ParseAudioConfig(c.codec, []byte(c.wire)); err != nil || got != c.want {
			t.Errorf("%s %q: %+v, %v, want %+v", c.codec, c.wire, got, err, c.want)
		}
		for n := range len(c.wire) {
			got, err := flv.ParseAudioConfig(c.codec, []byte(c.wire[:n]))
			if err == nil && got != c.want || err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s %q: %+v, %v", c.codec, c.wire[:n], got, err)
			}
		}
	}
	for _, wire := range []string{"\x16\x90", "\x17\x80\x00\x00\x10"} {
		if got, err := flv.ParseAudioSpecificConfig([]byte(wire)); !errors.Is(err, flv.ErrSyntax) {
			t.Errorf("%q: %+v, %v", wire, got, err)
		}
	}
}

// Encoders of HE-AAC say so behind a configuration that a decoder of plain AAC takes as its own.
func TestAACRateThatStandsBehind(t *testing.T) {
	for wire, want := range map[string]flv.AudioConfig{
		"\x13\x10\x56\xe5\x98":         {ObjectType: 2, Rate: 48000, Channels: 2}, // SBR on 24 kHz
		"\x13\x90\x56\xe5\xa0":         {ObjectType: 2, Rate: 44100, Channels: 2},
		"\x13\x88\x56\xe5\xa5\x48\x80": {ObjectType: 2, Rate: 44100, Channels: 2}, // PS on mono
		"\x13\x10\x56\xe5\x00":         {ObjectType: 2, Rate: 24000, Channels: 2}, // without SBR
		"\x13\x10\x56\xe5":             {ObjectType: 2, Rate: 24000, Channels: 2}, // cut off
		"\x13\x10\x56\xe5\xe8":         {ObjectType: 2, Rate: 24000, Channels: 2}, // a rate that there is not
		"\x13\x10":                     {ObjectType: 2, Rate: 24000, Channels: 2},
		"\x11\xe8":                     {ObjectType: 2, Rate: 48000, Channels: 24},
		"\x11\xc0\x04\xc4\x04\x00\x21": {ObjectType: 2, Rate: 48000},
	} {
		want.Codec = flv.CodecAAC
		if got, err := flv.ParseAudioSpecificConfig([]byte(wire)); err != nil || got != want {
			t.Errorf("% x: %+v, %v, want %+v", wire, got, err, want)
		}
	}
}

// Channels without a number are counted where they are spelled out, which is behind what a decoder cannot do without.
func TestAACChannelsThatAreSpelledOut(t *testing.T) {
	for wire, want := range map[string]int{
		"\x11\x80\x04\xc4\x04\x00\x21\x10\x0d":         4,
		"\x11\x80\x04\xc8\x48\x00\x20\x00\xc4\x40\x0d": 7, // with one of low frequencies
		"\x11\x80":             0, // in the frames
		"\x11\x80\x04\xc4\x04": 0, // cut off
	} {
		got, err := flv.ParseAudioSpecificConfig([]byte(wire))
		if err != nil || got.Channels != want || got.Rate != 48000 {
			t.Errorf("% x: %+v, %v, want %d channels", wire, got, err, want)
		}
	}
}

func TestWrongConfigs(t *testing.T) {
	video, _ := clipConfigs(t)
	none := append([]byte{}, video...)
	none[5] = 0xe0
	for name, p := range map[string]struct {
		codec flv.FourCC
		p     []byte
		want  error
	}{
		"AVC without sets":    {flv.CodecAVC, none, flv.ErrSyntax},
		"AVC of zeros":        {flv.CodecAVC, append([]byte{1, 100, 0, 30, 0xff, 0xe1, 0, 200}, make([]byte, 200)...), flv.ErrSyntax},
		"AVC of ones":         {flv.CodecAVC, append([]byte{1, 100, 0, 30, 0xff, 0xe1, 0, 4}, 0xff, 0xff, 0xff, 0xff), io.ErrUnexpectedEOF},
		"HEVC without sets":   {flv.CodecHEVC, make([]byte, 23), flv.ErrSyntax},
		"HEVC claims a lot":   {flv.CodecHEVC, append(make([]byte, 22), 0xff, 0, 0xff, 0xff), io.ErrUnexpectedEOF},
		"AV1 of version 2":    {flv.CodecAV1, []byte{0x82, 0, 0, 0}, flv.ErrSyntax},
		"AV1 claims a lot":    {flv.CodecAV1, []byte{0x81, 0, 0, 0, 0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, io.ErrUnexpectedEOF},
		"Opus without a name": {flv.CodecOpus, make([]byte, 19), flv.ErrSyntax},
		"FLAC without a name": {flv.CodecFLAC, make([]byte, 42), flv.ErrSyntax},
		"FLAC without a rate": {flv.CodecFLAC, make([]byte, 34), flv.ErrSyntax},
	} {
		_, err := flv.ParseVideoConfig(p.codec, p.p)
		if p.codec == flv.CodecOpus || p.codec == flv.CodecFLAC {
			_, err = flv.ParseAudioConfig(p.codec, p.p)
		}
		if !errors.Is(err, p.want) {
			t.Errorf("%s: %v, want %v", name, err, p.want)
		}
	}
}
