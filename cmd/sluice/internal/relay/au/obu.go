package au

import (
	"fmt"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/av1"

	"github.com/sluice-go/sluice/flv"
)

// Types of OBUs (AV1 Bitstream, section 6.2.2).
const (
	obuSequenceHeader = 1
	obuDelimiter      = 2
	obuTileList       = 8
	obuPadding        = 15
)

// OBUType returns the type of an OBU.
func OBUType(p []byte) int {
	if len(p) == 0 {
		return -1
	}
	return int(p[0] >> 3 & 0x0f)
}

// SplitOBU returns the length of an OBU's header and its payload, a view of p, which
// is one OBU, with or without a size of its own (AV1 Bitstream, section 5.3).
func SplitOBU(p []byte) (header int, payload []byte, err error) {
	header, start, size, err := obuExtent(p)
	if err != nil {
		return 0, nil, err
	}
	return header, p[start : start+size], nil
}

// obuExtent returns the length of the header of the OBU at the front of p, the place
// of its payload, and its length.
func obuExtent(p []byte) (header, start, size int, err error) {
	const extension, sized = 4, 2
	if len(p) == 0 {
		return 0, 0, 0, fmt.Errorf("%w: an empty OBU", ErrSyntax)
	}
	header = 1
	if p[0]&extension != 0 {
		header = 2
	}
	if header > len(p) {
		return 0, 0, 0, fmt.Errorf("%w: an OBU of %d byte", ErrSyntax, len(p))
	}
	if p[0]&sized == 0 {
		return header, header, len(p) - header, nil
	}
	var n av1.LEB128
	k, err := n.Unmarshal(p[header:])
	if err != nil {
		return 0, 0, 0, fmt.Errorf("%w: size of an OBU: %w", ErrSyntax, err)
	}
	start = header + k
	if uint64(n) > uint64(len(p)-start) {
		return 0, 0, 0, fmt.Errorf("%w: an OBU of %d bytes, %d are left", ErrSyntax, n, len(p)-start)
	}
	return header, start, int(n), nil
}

// SplitOBUs appends the views of the OBUs in p, with their sizes, to dst, without those
// that are not carried further. An error matches ErrSyntax.
func SplitOBUs(dst [][]byte, p []byte) ([][]byte, error) { return appendOBUs(dst, p) }

// appendOBUs appends the views of the OBUs in p to dst, without delimiters, padding
// and tile lists, which are not carried further. There is a bound as of appendLengths.
func appendOBUs(dst [][]byte, p []byte) ([][]byte, error) {
	for len(p) > 0 {
		_, start, size, err := obuExtent(p)
		if err != nil {
			return dst, err
		}
		one := p[:start+size]
		p = p[start+size:]
		switch OBUType(one) {
		case obuDelimiter, obuPadding, obuTileList:
		default:
			if len(dst) == MaxUnits {
				return dst, errTooMany()
			}
			dst = append(dst, one)
		}
	}
	return dst, nil
}

// NewAV1Config makes a configuration from a sequence header, which is copied.
func NewAV1Config(sequence []byte) (*Config, error) {
	header, payload, err := SplitOBU(sequence)
	if err != nil {
		return nil, err
	}
	plain, err := PlainSequence(sequence)
	if err != nil {
		return nil, err
	}
	var h av1.SequenceHeader
	if err := h.Unmarshal(plain); err != nil {
		return nil, fmt.Errorf("%w: AV1 sequence header: %w", ErrSyntax, err)
	}
	level, tier := byte(0), byte(0)
	if len(h.SeqLevelIdx) > 0 {
		level = h.SeqLevelIdx[0]
	}
	if len(h.SeqTier) > 0 && h.SeqTier[0] {
		tier = 1
	}
	bit := func(on bool, place int) byte {
		if on {
			return 1 << place
		}
		return 0
	}
	c := h.ColorConfig
	record := []byte{0x81, h.SeqProfile<<5 | level&0x1f,
		tier<<7 | bit(c.HighBitDepth, 6) | bit(c.TwelveBit, 5) | bit(c.MonoChrome, 4) | bit(c.SubsamplingX, 3) | bit(c.SubsamplingY, 2) | byte(c.ChromaSamplePosition&3), 0}
	return ParseConfig(flv.CodecAV1, AppendOBU(record, sequence[0]&^2, sequence[1:header], payload))
}

// AppendOBU appends an OBU with its size: the first byte of its header, the extension,
// which may be empty, and its payload.
func AppendOBU(dst []byte, first byte, extension, payload []byte) []byte {
	dst = append(append(dst, first|2), extension...)
	n := len(payload)
	for ; n >= 0x80; n >>= 7 {
		dst = append(dst, byte(n)|0x80)
	}
	return append(append(dst, byte(n)), payload...)
}
