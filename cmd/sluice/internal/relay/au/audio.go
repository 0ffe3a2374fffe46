package au

import (
	"encoding/binary"
	"math/bits"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/ac3"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/opus"

	"github.com/sluice-go/sluice/flv"
)

// g711Rate is the rate of G.711, in Hz.
const g711Rate = 8000

// audioConfig returns the configuration of a codec that has no sequence header, from
// the header of its tag and a frame, borrowed until it returns; nil when the frame
// does not say it.
func audioConfig(h *flv.AudioHeader, frame []byte) *Config {
	c := &Config{Codec: h.Codec, Channels: 1}
	switch h.Codec {
	case flv.CodecALaw, flv.CodecMuLaw:
		c.Rate = g711Rate
		if h.Stereo {
			c.Channels = 2
		}
	case flv.CodecMP3, flv.CodecMP3At8k:
		c.Codec = flv.CodecMP3
		m, ok := ParseMPEGAudio(frame)
		if !ok {
			return nil
		}
		c.Rate, c.Channels, c.FrameLen = m.Rate, m.Channels, m.Samples
	case flv.CodecAC3:
		var s ac3.SyncInfo
		var b ac3.BSI
		if s.Unmarshal(frame) != nil || len(frame) < 6 || b.Unmarshal(frame[5:]) != nil {
			return nil
		}
		c.Rate, c.Channels, c.FrameLen = s.SampleRate(), b.ChannelCount(), 1536
	default:
		return nil
	}
	return c
}

// SoundConfig returns the configuration of a codec without a sequence header from a
// frame of it, borrowed until it returns; nil when the frame does not say it.
func SoundConfig(codec flv.FourCC, frame []byte) *Config {
	return audioConfig(&flv.AudioHeader{Codec: codec}, frame)
}

// lessThan reports whether c, of a header, says the codec alone, and o, of frames, more of the same
// one: ffmpeg writes empty headers for AC-3 and MP3.
func (c *Config) lessThan(o *Config) bool {
	return c.Rate == 0 && o != nil && c.Codec == o.Codec
}

// same reports whether two configurations say the same of sound.
func (c *Config) same(o *Config) bool {
	return o != nil && c.Codec == o.Codec && c.Rate == o.Rate && c.Channels == o.Channels && c.FrameLen == o.FrameLen
}

// Samples returns how many samples of each channel a frame of sound has, borrowed until
// it returns; 0 when it does not say.
func (c *Config) Samples(frame []byte) int {
	switch c.Codec {
	case flv.CodecOpus:
		return int(opus.PacketDuration2(frame)) // in samples of 48 kHz
	case flv.CodecALaw, flv.CodecMuLaw:
		return len(frame) / max(c.Channels, 1)
	case flv.CodecFLAC:
		return flacSamples(frame)
	}
	return c.FrameLen
}

// flacSamples returns the samples of each channel that the header of a frame of FLAC says
// (RFC 9639, section 9.1); 0 for none.
func flacSamples(p []byte) int {
	const coded = 4 // where the number of the frame is: as many bytes as its first one begins with ones, or one
	if len(p) <= coded {
		return 0
	}
	behind := p[min(coded+max(bits.LeadingZeros8(^p[coded]), 1), len(p)):]
	switch n := p[2] >> 4; {
	case n == 1:
		return 192
	case n >= 8:
		return 256 << (n - 8)
	case n >= 2 && n <= 5:
		return 576 << (n - 2)
	case n == 6 && len(behind) >= 1:
		return int(behind[0]) + 1
	case n == 7 && len(behind) >= 2:
		return int(binary.BigEndian.Uint16(behind)) + 1
	}
	return 0
}

// NewAACConfig makes a configuration from an AudioSpecificConfig, which is copied.
func NewAACConfig(asc []byte) (*Config, error) { return ParseConfig(flv.CodecAAC, asc) }

// NewOpusConfig makes a configuration of Opus with one or two channels (RFC 7845,
// section 5.1).
func NewOpusConfig(channels int) *Config {
	const rate = 48000
	head := append([]byte("OpusHead"), 1, byte(channels), 0, 0, rate&0xff, rate>>8&0xff, rate>>16&0xff, 0, 0, 0, 0)
	return &Config{Codec: flv.CodecOpus, Record: head, Rate: rate, Channels: channels}
}

// NewPlainConfig makes the configuration of a codec without a record.
func NewPlainConfig(codec flv.FourCC, rate, channels int) *Config {
	c := &Config{Codec: codec, Rate: rate, Channels: channels}
	if codec == flv.CodecAC3 {
		c.FrameLen = 1536
	}
	return c
}
