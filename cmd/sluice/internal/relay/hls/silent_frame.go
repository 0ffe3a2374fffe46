package hls

import (
	"encoding/binary"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/flac"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/mp4/codecs"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/mp4"
	"github.com/sluice-go/sluice/flv"
)

// silentOpus are 20 ms of CELT with its flag of silence (RFC 6716, sections 3.1 and 4.3), by channels.
var silentOpus = [][]byte{1: {0xf8, 0xff, 0xfe}, 2: {0xfc, 0xff, 0xfe}}

// silence returns a frame without sound, nil for a configuration for which none is known: these have no
// form either.
func silence(c *au.Config) []byte {
	if c.Rate <= 0 {
		return nil
	}
	switch c.Codec {
	case flv.CodecAAC:
		return silentAAC(au.AACElements(c.Record))
	case flv.CodecOpus:
		if channels := max(c.Channels, 1); channels < len(silentOpus) { // as in mp4.SampleEntry
			return silentOpus[channels]
		}
	case flv.CodecFLAC:
		if e, err := mp4.SampleEntry(c); err == nil {
			return silentFLAC(e.(*codecs.FLAC).StreamInfo)
		}
	}
	return nil
}

// silentAAC returns a frame of elements of which no band is coded, nil for none. What HE-AAC has beside
// them may be missing (section 4.5.2.8.2.1).
func silentAAC(elements []au.AACElement) []byte {
	if len(elements) == 0 {
		return nil
	}
	var p []byte
	n := 0
	write := func(value, bits int) {
		for bits--; bits >= 0; bits-- {
			if n%8 == 0 {
				p = append(p, 0)
			}
			p[n/8] |= byte(value>>bits&1) << (7 - n%8)
			n++
		}
	}
	for _, e := range elements {
		const channel = 22 // gain, window, no band, none of the tools (table 4.50)
		write(e.Kind, 3)
		write(e.Tag, 4)
		write(0, channel)
		if e.Kind == au.AACPair {
			write(0, 1+channel) // no common window
		}
	}
	write(au.AACEnd, 3)
	return p
}

// silentFLAC returns a frame of a constant in each channel, 0 (RFC 9639, sections 9.1 to 9.3).
func silentFLAC(s *flac.StreamInfo) []byte {
	const fixed, atTheEnd, usual = 0xf8, 7 << 4, 4096
	size := s.MaxBlockSize
	if size < 16 || size != s.MinBlockSize {
		size = usual
	}
	p := []byte{0xff, fixed, atTheEnd, (s.ChannelCount - 1) << 4, 0}
	p = binary.BigEndian.AppendUint16(p, size-1)
	p = append(p, byte(remainder(p, 8, 0x07)))
	p = append(p, make([]byte, (int(s.ChannelCount)*(8+int(s.BitDepth))+7)/8)...)
	return binary.BigEndian.AppendUint16(p, remainder(p, 16, 0x8005))
}

// remainder is the CRC of so many bits of a polynomial (RFC 9639, sections 9.1.8 and 9.3).
func remainder(p []byte, width int, polynomial uint16) (crc uint16) {
	for _, b := range p {
		crc ^= uint16(b) << (width - 8)
		for range 8 {
			carry := crc>>(width-1)&1 != 0
			if crc <<= 1; carry {
				crc ^= polynomial
			}
		}
	}
	return crc & (1<<width - 1)
}
