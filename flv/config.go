package flv

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// A VideoConfig is what a sequence header of video says of the pictures. What
// is not said there is 0.
type VideoConfig struct {
	Codec         FourCC
	Profile       int // the codec's number for it
	Level         int
	Width, Height int     // of what is shown, in pixels
	FrameRate     float64 // frames a second, as far as the configuration promises one
}

// An AudioConfig is what a sequence header of audio says of the sound. What is
// not said there is 0.
type AudioConfig struct {
	Codec      FourCC
	ObjectType int // AAC's number for the kind of coding: 2 is LC
	Rate       int // samples a second, as they are heard
	Channels   int
}

// ParseVideoConfig reads the body of a sequence header, VideoHeader.Body,
// borrowed until it returns. For a codec whose
// configuration it does not know it returns the codec alone.
func ParseVideoConfig(codec FourCC, p []byte) (VideoConfig, error) {
	switch codec {
	case CodecAVC:
		return ParseAVCConfig(p)
	case CodecHEVC:
		return ParseHEVCConfig(p)
	case CodecAV1:
		return ParseAV1Config(p)
	}
	return VideoConfig{Codec: codec}, nil
}

// ParseAudioConfig reads the body of a sequence header, AudioHeader.Body,
// borrowed until it returns. For a codec whose
// configuration it does not know it returns the codec alone.
func ParseAudioConfig(codec FourCC, p []byte) (AudioConfig, error) {
	switch codec {
	case CodecAAC:
		return ParseAudioSpecificConfig(p)
	case CodecOpus:
		return parseOpusHead(p)
	case CodecFLAC:
		return parseStreamInfo(p)
	}
	return AudioConfig{Codec: codec}, nil
}

// errConfig is the error of a configuration at whose end, or before it, b is.
func errConfig(what string, b *bits) error {
	if b.short {
		return fmt.Errorf("flv: %s: cut off after %d bytes: %w", what, len(b.p), io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("%w: %s, before byte %d", ErrSyntax, what, b.at)
}

// aacRates are the sampling rates by index (ISO/IEC 14496-3, table 1.18).
var aacRates = [16]int{96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350}

// aacChannels are the channels by configuration (table 1.19); 0 is spelled out, and 0
// stands for those that there are not.
var aacChannels = [16]int{0, 1, 2, 3, 4, 5, 6, 8, 0, 0, 0, 7, 8, 24, 8}

// Kinds of AAC: the highest of the plain ones, and those that double the rate of what they
// are built on.
const (
	aacPlain = 4
	aacSBR   = 5
	aacPS    = 29
)

// ParseAudioSpecificConfig reads an AudioSpecificConfig (ISO/IEC 14496-3,
// section 1.6.2.1), borrowed until it returns.
func ParseAudioSpecificConfig(p []byte) (AudioConfig, error) {
	b := bits{p: p}
	kind := b.aacKind()
	rate := b.aacRate()
	layout := b.read(4)
	channels := aacChannels[layout]
	c := AudioConfig{Codec: CodecAAC, ObjectType: kind, Rate: rate, Channels: channels}
	if kind == aacSBR || kind == aacPS {
		c.Rate = b.aacRate()
		if kind == aacPS && channels == 1 {
			c.Channels = 2
		}
		c.ObjectType = b.aacKind()
	}
	if b.short || c.Rate == 0 {
		return AudioConfig{}, errConfig("AAC configuration", &b)
	}
	switch {
	case layout == 0:
		c.Channels = b.aacProgram()
	case kind <= aacPlain:
		b.aacExtension(&c)
	}
	return c, nil
}

// aacExtension reads what encoders put behind a configuration that decoders without SBR know, and
// those with it look at (section 1.6.5, signalling that is backward compatible).
func (b *bits) aacExtension(c *AudioConfig) {
	b.skip(1)
	if b.flag() {
		b.skip(14)
	}
	b.skip(1)
	if b.read(11) != 0x2b7 || b.aacKind() != aacSBR || !b.flag() {
		return
	}
	rate := b.aacRate()
	if b.short || rate == 0 {
		return
	}
	c.Rate = rate
	if b.read(11) == 0x548 && b.flag() && c.Channels == 1 {
		c.Channels = 2
	}
}

// aacProgram reads the channels that are spelled out (tables 4.1 and 4.2) behind their configuration, and
// returns how many there are; 0 when they stand elsewhere.
func (b *bits) aacProgram() (channels int) {
	b.skip(1)
	if b.flag() {
		b.skip(14)
	}
	b.skip(1 + 4 + 2 + 4)
	wide := b.read(4) + b.read(4) + b.read(4)
	low := b.read(2)
	b.skip(3 + 4)
	for _, n := range []int{4, 4, 3} {
		if b.flag() {
			b.skip(n)
		}
	}
	for range wide {
		channels += 1 + int(b.bit())
		b.skip(4)
	}
	if b.short {
		return 0
	}
	return channels + int(low)
}

func (b *bits) aacKind() int {
	kind := b.read(5)
	if kind == 31 {
		kind = 32 + b.read(6)
	}
	return int(kind)
}

func (b *bits) aacRate() int {
	i := b.read(4)
	if i == 15 {
		return int(b.read(24))
	}
	return aacRates[i]
}

// parseOpusHead reads an identification header (RFC 7845, section 5.1). What is
// heard has 48 kHz, whatever rate the sound had before.
func parseOpusHead(p []byte) (AudioConfig, error) {
	const magic, length = "OpusHead", 19
	if len(p) < length {
		return AudioConfig{}, fmt.Errorf("flv: Opus configuration: %d bytes of %d: %w", len(p), length, io.ErrUnexpectedEOF)
	}
	if string(p[:len(magic)]) != magic {
		return AudioConfig{}, fmt.Errorf("%w: an Opus configuration that begins with %q", ErrSyntax, p[:len(magic)])
	}
	return AudioConfig{Codec: CodecOpus, Rate: 48000, Channels: int(p[9])}, nil
}

// parseStreamInfo reads what a FLAC stream begins with (RFC 9639, sections 6
// and 8.2), or the stream information alone, which is what ffmpeg sends.
func parseStreamInfo(p []byte) (AudioConfig, error) {
	const magic, block, length, at = "fLaC", 4, 34, 10
	info, want := p, length
	if bytes.HasPrefix(p, []byte(magic)) {
		want += len(magic) + block
		info = p[min(len(p), len(magic)+block):]
	}
	switch {
	case len(info) < length:
		return AudioConfig{}, fmt.Errorf("flv: FLAC configuration: %d bytes of %d: %w", len(p), want, io.ErrUnexpectedEOF)
	case want == length && len(p) > length:
		return AudioConfig{}, fmt.Errorf("%w: a FLAC configuration that begins with %q", ErrSyntax, p[:len(magic)])
	}
	v := binary.BigEndian.Uint32(info[at:])
	c := AudioConfig{Codec: CodecFLAC, Rate: int(v >> 12), Channels: int(v>>9&7) + 1}
	if c.Rate == 0 {
		return AudioConfig{}, fmt.Errorf("%w: a FLAC configuration without a sample rate", ErrSyntax)
	}
	return c, nil
}

// parseMPEGAudio reads the header of an MP3 frame (ISO/IEC 11172-3, section
// 2.4.2.3, and 13818-3): the only place where MP3 says what it is.
func parseMPEGAudio(p []byte) (AudioConfig, bool) {
	if len(p) < 4 || p[0] != 0xff || p[1]&0xe0 != 0xe0 {
		return AudioConfig{}, false
	}
	version, index := p[1]>>3&3, p[2]>>2&3
	if version == 1 || index == 3 || p[1]>>1&3 == 0 {
		return AudioConfig{}, false
	}
	rate := [3]int{44100, 48000, 32000}[index]
	switch version {
	case 0:
		rate /= 4 // MPEG 2.5
	case 2:
		rate /= 2
	}
	channels := 2
	if p[3]>>6 == 3 {
		channels = 1
	}
	return AudioConfig{Codec: CodecMP3, Rate: rate, Channels: channels}, true
}
