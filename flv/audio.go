package flv

import "fmt"

// A SoundRate is the sampling rate in a classic header of audio. AAC's is always
// SoundRate44k: the true one is in its configuration.
type SoundRate uint8

// Rates that the classic header can say.
const (
	SoundRate5k  SoundRate = iota // 5,512.5 Hz
	SoundRate11k                  // 11,025 Hz
	SoundRate22k                  // 22,050 Hz
	SoundRate44k                  // 44,100 Hz
)

// Hz returns the rate in samples a second, rounded down.
func (r SoundRate) Hz() int { return 44100 >> (3 - r&3) }

// An AudioPacketType says what an audio packet is: AACPacketType for the classic
// form, AudioPacketType for the enhanced one.
type AudioPacketType uint8

// Types of packets.
const (
	AudioSequenceStart      AudioPacketType = 0 // the decoder's configuration
	AudioCodedFrames        AudioPacketType = 1
	AudioSequenceEnd        AudioPacketType = 2
	AudioMultichannelConfig AudioPacketType = 4 // where the channels' loudspeakers are
)

const audioMultitrack = 5

// An AudioHeader is what the payload of an audio tag begins with, in the classic
// form (section E.4.2.1) or the enhanced one.
type AudioHeader struct {
	Codec     FourCC
	Packet    AudioPacketType // AudioCodedFrames for codecs that have no types of packets
	Rate      SoundRate       // of the classic form, like the next two
	Bits16    bool            // 16 bits a sample, not 8; 16 for what is compressed
	Stereo    bool
	Enhanced  bool // the form
	Extension      // of the enhanced form
	Len       int  // of the header in bytes: the rest of the payload, or of the track, is the codec's. Append does not look at it
}

// ParseAudio reads the header at the front of an audio tag's payload. p is
// borrowed until it returns, and as long as ModEx is looked at. It allocates
// nothing. Errors are ErrSyntax and, for a header that is cut off,
// io.ErrUnexpectedEOF.
func ParseAudio(p []byte) (AudioHeader, error) {
	if len(p) == 0 {
		return AudioHeader{}, errCut("audio", 0)
	}
	h := AudioHeader{Packet: AudioCodedFrames, Len: 1}
	n := p[0] >> 4
	if n == numberEnhanced {
		h.Enhanced = true
		packet, err := h.parseModEx(p)
		if err == nil {
			packet, h.Codec, h.Len, err = h.parseTracks(p, 1+len(h.ModEx), packet, audioMultitrack)
		}
		if err != nil {
			return AudioHeader{}, err
		}
		h.Packet = AudioPacketType(packet)
		return h, nil
	}
	h.Codec = numbered(&audioNumbers, n)
	h.Rate, h.Bits16, h.Stereo = SoundRate(p[0]>>2&3), p[0]&2 != 0, p[0]&1 != 0
	if h.Codec == CodecAAC {
		if len(p) < 2 {
			return AudioHeader{}, errCut("audio", len(p))
		}
		h.Packet, h.Len = AudioPacketType(p[1]), 2
	}
	return h, nil
}

// Append appends the header to dst: for what ParseAudio returned, the bytes that
// it read. A codec without a number is written in the enhanced form, whatever
// Enhanced says. What does not fit its bits panics. dst is borrowed until the call returns; the
// result is the caller's.
func (h AudioHeader) Append(dst []byte) []byte {
	n, ok := h.Codec.number(&audioNumbers)
	if h.Enhanced || !ok || n == numberEnhanced {
		dst, at := append(dst, numberEnhanced<<4), len(dst)
		return h.append(dst, at, uint8(h.Packet), audioMultitrack, h.Codec, false)
	}
	if h.Rate > SoundRate44k {
		panic(fmt.Sprintf("flv: AudioHeader.Append of rate %d", h.Rate))
	}
	first := n<<4 | byte(h.Rate)<<2
	if h.Bits16 {
		first |= 2
	}
	if h.Stereo {
		first |= 1
	}
	dst = append(dst, first)
	if h.Codec == CodecAAC {
		dst = append(dst, byte(h.Packet))
	}
	return dst
}

// Body returns the view of p, of which h was parsed, that is the codec's: what
// is behind the header, of several tracks the first.
func (h *AudioHeader) Body(p []byte) []byte { return h.body(p, h.Len, 0) }

// Config reports whether this is a sequence header: the configuration without
// which nothing can be decoded. Of several tracks the first counts.
func (h AudioHeader) Config() bool { return h.Packet == AudioSequenceStart }

// coded reports whether there is sound.
func (h AudioHeader) coded() bool { return h.Packet == AudioCodedFrames }
