package au

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h265"

	"github.com/sluice-go/sluice/flv"
)

// maxSets bounds the parameter sets of one stream: more than a decoder keeps
// (H.264, section 7.4.1.2.1, has 32 and 256 ids; encoders use one to three).
const maxSets = 64

// maxRecord bounds what is kept of a track's configuration, in bytes: copies that count for no limit, of which
// each output of a stream has its own, and HLS one for each segment. Those of encoders have some hundred.
const maxRecord = 64 << 10

// ParseConfig reads the body of a sequence header, borrowed until it returns: what is
// kept of it is copied. An error matches ErrSyntax or is one of package flv.
func ParseConfig(codec flv.FourCC, record []byte) (*Config, error) {
	if len(record) > maxRecord {
		return nil, fmt.Errorf("%w: a configuration of %d bytes, at most %d", ErrSyntax, len(record), maxRecord)
	}
	c := &Config{Codec: codec, Record: bytes.Clone(record)}
	var err error
	switch codec {
	case flv.CodecAVC:
		err = c.parseAVC()
	case flv.CodecHEVC:
		err = c.parseHEVC()
	case flv.CodecAV1:
		err = c.parseAV1()
	case flv.CodecAAC, flv.CodecOpus, flv.CodecFLAC:
		err = c.parseAudio()
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Config) parseAudio() error {
	a, err := flv.ParseAudioConfig(c.Codec, c.Record)
	if err != nil {
		return err
	}
	c.Rate, c.Channels = a.Rate, a.Channels
	if c.Codec == flv.CodecAAC {
		c.FrameLen = aacFrame(c.Record, c.Rate)
	}
	return nil
}

// parseAVC reads an AVCDecoderConfigurationRecord (ISO/IEC 14496-15, section
// 5.3.3.1).
func (c *Config) parseAVC() error {
	p := c.Record
	if len(p) < 7 {
		return fmt.Errorf("%w: an AVC configuration of %d bytes", ErrSyntax, len(p))
	}
	c.lengthSize = int(p[4]&3) + 1
	rest, err := c.sets(p[6:], int(p[5]&0x1f))
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		return fmt.Errorf("%w: an AVC configuration that ends before its picture parameter sets", ErrSyntax)
	}
	_, err = c.sets(rest[1:], int(rest[0]))
	return err
}

// sets takes n units with lengths of two bytes off p.
func (c *Config) sets(p []byte, n int) ([]byte, error) {
	for range n {
		if len(p) < 2 || len(p)-2 < int(binary.BigEndian.Uint16(p)) {
			return nil, fmt.Errorf("%w: a configuration that ends inside a parameter set", ErrSyntax)
		}
		size := int(binary.BigEndian.Uint16(p))
		if set := p[2 : 2+size]; size > 0 && len(c.Sets) < maxSets {
			c.Sets = append(c.Sets, set)
		}
		p = p[2+size:]
	}
	return p, nil
}

// parseHEVC reads an HEVCDecoderConfigurationRecord (ISO/IEC 14496-15, section
// 8.3.3.1).
func (c *Config) parseHEVC() error {
	p := c.Record
	if len(p) < 23 {
		return fmt.Errorf("%w: an HEVC configuration of %d bytes", ErrSyntax, len(p))
	}
	c.lengthSize = int(p[21]&3) + 1
	arrays, rest := int(p[22]), p[23:]
	for range arrays {
		if len(rest) < 3 {
			return fmt.Errorf("%w: an HEVC configuration that ends before its parameter sets", ErrSyntax)
		}
		var err error
		if rest, err = c.sets(rest[3:], int(binary.BigEndian.Uint16(rest[1:]))); err != nil {
			return err
		}
	}
	// Other units may stand there, and in any order.
	c.Sets = slices.DeleteFunc(c.Sets, func(s []byte) bool { return !IsSet(c.Codec, s) })
	slices.SortStableFunc(c.Sets, func(a, b []byte) int { return NALType(c.Codec, a) - NALType(c.Codec, b) })
	return nil
}

// parseAV1 reads an AV1CodecConfigurationRecord (AV1 Codec ISO Media File Format
// Binding, section 2.3.3).
func (c *Config) parseAV1() error {
	if len(c.Record) < 4 {
		return fmt.Errorf("%w: an AV1 configuration of %d bytes", ErrSyntax, len(c.Record))
	}
	var err error
	c.Sets, err = appendOBUs(nil, c.Record[4:])
	if len(c.Sets) > maxSets {
		c.Sets = c.Sets[:maxSets]
	}
	return err
}

// NewVideoConfig makes the configuration of H.264 or HEVC from its parameter sets,
// which are copied.
func NewVideoConfig(codec flv.FourCC, sets [][]byte) (*Config, error) {
	if len(sets) > maxSets {
		return nil, fmt.Errorf("%w: %d parameter sets, at most %d", ErrSyntax, len(sets), maxSets)
	}
	for _, s := range sets {
		if len(s) > 1<<16-1 {
			return nil, fmt.Errorf("%w: a parameter set of %d bytes", ErrSyntax, len(s))
		}
	}
	kinds := map[int][][]byte{}
	for _, s := range sets {
		t := NALType(codec, s)
		kinds[t] = append(kinds[t], s)
	}
	var record []byte
	switch codec {
	case flv.CodecAVC:
		if len(kinds[avcSPS]) == 0 || len(kinds[avcPPS]) == 0 || len(kinds[avcSPS][0]) < 4 || len(kinds[avcSPS]) > 31 {
			return nil, fmt.Errorf("%w: H.264 with %d sequence and %d picture parameter sets", ErrSyntax, len(kinds[avcSPS]), len(kinds[avcPPS]))
		}
		sps := kinds[avcSPS][0]
		record = append(record, 1, sps[1], sps[2], sps[3], 0xff, 0xe0|byte(len(kinds[avcSPS])))
		record = appendSets(record, kinds[avcSPS])
		record = appendSets(append(record, byte(len(kinds[avcPPS]))), kinds[avcPPS])
		record = append(record, avcTail(sps)...)
	case flv.CodecHEVC:
		if len(kinds[hevcVPS]) == 0 || len(kinds[hevcSPS]) == 0 || len(kinds[hevcPPS]) == 0 {
			return nil, fmt.Errorf("%w: HEVC needs all three kinds of parameter sets", ErrSyntax)
		}
		var err error
		if record, err = hevcHead(kinds[hevcSPS][0]); err != nil {
			return nil, err
		}
		for _, kind := range []int{hevcVPS, hevcSPS, hevcPPS} {
			record = binary.BigEndian.AppendUint16(append(record, 0x80|byte(kind)), uint16(len(kinds[kind])))
			record = appendSets(record, kinds[kind])
		}
	default:
		return nil, fmt.Errorf("%w: %v has no parameter sets", ErrCodec, codec)
	}
	return ParseConfig(codec, record)
}

func appendSets(dst []byte, sets [][]byte) []byte {
	for _, s := range sets {
		dst = append(binary.BigEndian.AppendUint16(dst, uint16(len(s))), s...)
	}
	return dst
}

// hevcHead returns the record up to its arrays.
func hevcHead(set []byte) ([]byte, error) {
	var sps h265.SPS
	if err := sps.Unmarshal(set); err != nil {
		return nil, fmt.Errorf("%w: HEVC sequence parameter set: %w", ErrSyntax, err)
	}
	// What is behind two bytes of the unit's header and one of ids is in the record
	// as it is: 12 bytes of profile, tier and level.
	plain := unescaped(set, 3+12)
	if len(plain) < 3+12 {
		return nil, fmt.Errorf("%w: an HEVC sequence parameter set of %d bytes", ErrSyntax, len(set))
	}
	record := append([]byte{1}, plain[3:3+12]...)
	layers := sps.MaxSubLayersMinus1 + 1
	nested := byte(0)
	if sps.TemporalIDNestingFlag {
		nested = 1
	}
	return append(record,
		0xf0, 0, // no segmentation known
		0xfc, // parallelism unknown
		0xfc|byte(sps.ChromaFormatIdc&3),
		0xf8|byte(sps.BitDepthLumaMinus8&7),
		0xf8|byte(sps.BitDepthChromaMinus8&7),
		0, 0, // frame rate unknown
		layers<<3|nested<<2|3,
		3), nil
}

// unescaped returns the first bytes of a unit, up to n of them, without the bytes that
// prevent start codes (H.264 and H.265, section 7.4.1).
func unescaped(p []byte, n int) []byte {
	out := make([]byte, 0, n)
	zeros := 0
	for _, b := range p {
		if len(out) == n {
			break
		}
		if zeros >= 2 && b == 3 {
			zeros = 0
			continue
		}
		if b == 0 {
			zeros++
		} else {
			zeros = 0
		}
		out = append(out, b)
	}
	return out
}
