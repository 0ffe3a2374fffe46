package flv

import (
	"encoding/binary"
	"fmt"
	"io"
)

// widest is the largest width or height in pixels that is believed.
const widest = 1 << 16

// ParseAVCConfig reads an AVCDecoderConfigurationRecord (ISO/IEC 14496-15,
// section 5.3.3.1), borrowed until it returns, up to its first sequence
// parameter set.
func ParseAVCConfig(p []byte) (VideoConfig, error) {
	const before = 6 // what is before the sets
	if len(p) < before+2 {
		return VideoConfig{}, errSmall("AVC", p)
	}
	n := int(binary.BigEndian.Uint16(p[before:]))
	if p[5]&0x1f == 0 || n < 1 {
		return VideoConfig{}, fmt.Errorf("%w: AVC configuration without a sequence parameter set", ErrSyntax)
	}
	if len(p) < before+2+n {
		return VideoConfig{}, errSmall("AVC", p)
	}
	return parseAVCSet(p[before+2 : before+2+n])
}

// parseAVCSet reads a sequence parameter set (H.264, section 7.3.2.1.1), its
// unit's first byte included.
func parseAVCSet(p []byte) (VideoConfig, error) {
	b := bits{p: p[1:], escaped: true}
	c := VideoConfig{Codec: CodecAVC}
	c.Profile = int(b.read(8))
	b.skip(8)
	c.Level = int(b.read(8))
	b.ue()
	chroma := uint32(1)
	switch c.Profile {
	case 100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135:
		chroma = b.ue()
		if chroma == 3 {
			b.skip(1)
		}
		b.ue()
		b.ue()
		b.skip(1)
		if b.flag() {
			b.avcScaling(chroma)
		}
	}
	b.ue() // log2_max_frame_num
	switch b.ue() {
	case 0:
		b.ue()
	case 1:
		b.skip(1)
		b.se()
		b.se()
		n := b.ue()
		if n > 255 {
			b.bad = true
			n = 0
		}
		for range n {
			b.se()
		}
	}
	b.ue() // max_num_ref_frames
	b.skip(1)
	width, height := b.ue()+1, b.ue()+1
	fields := uint32(2) // a map unit of fields is two macroblocks high
	if b.flag() {
		fields = 1
	} else {
		b.skip(1)
	}
	b.skip(1)
	if width > widest/16 || height > widest/16 {
		b.bad = true
	}
	unitX, unitY := chromaUnits(chroma)
	b.crop(&c, uint64(width)*16, uint64(height)*16*uint64(fields), unitX, unitY*fields)
	if b.flag() && !b.short {
		c.FrameRate = b.avcFrameRate()
	}
	if b.short || b.bad {
		return VideoConfig{}, errConfig("AVC sequence parameter set", &b)
	}
	return c, nil
}

// avcScaling passes over scaling lists (section 7.3.2.1.1.1).
func (b *bits) avcScaling(chroma uint32) {
	lists := 8
	if chroma == 3 {
		lists = 12
	}
	for i := range lists {
		if !b.flag() {
			continue
		}
		size := 16
		if i >= 6 {
			size = 64
		}
		last, next := int32(8), int32(8)
		for range size {
			if next != 0 {
				next = (last + b.se()) & 0xff
			}
			if next != 0 {
				last = next
			}
		}
	}
}

// avcFrameRate reads the usability information up to the frame rate (section
// E.1.1).
func (b *bits) avcFrameRate() float64 {
	if b.flag() && b.read(8) == 255 { // aspect ratio, spelled out
		b.skip(32)
	}
	if b.flag() { // overscan
		b.skip(1)
	}
	if b.flag() { // kind of signal
		b.skip(4)
		if b.flag() {
			b.skip(24)
		}
	}
	if b.flag() { // place of chroma samples
		b.ue()
		b.ue()
	}
	if !b.flag() {
		return 0
	}
	unit, scale := b.read(32), b.read(32)
	if unit == 0 {
		return 0
	}
	return float64(scale) / float64(unit) / 2 // a tick is a field's
}

// chromaUnits returns how many pixels a unit of cropping is wide and high.
func chromaUnits(chroma uint32) (x, y uint32) {
	switch chroma {
	case 1:
		return 2, 2
	case 2:
		return 2, 1
	}
	return 1, 1
}

// crop reads what of a picture is not shown, in units, and sets what is.
func (b *bits) crop(c *VideoConfig, width, height uint64, unitX, unitY uint32) {
	if b.flag() {
		left, right, top, bottom := b.ue(), b.ue(), b.ue(), b.ue()
		x := (uint64(left) + uint64(right)) * uint64(unitX)
		y := (uint64(top) + uint64(bottom)) * uint64(unitY)
		if x >= width || y >= height {
			b.bad = true
			return
		}
		width, height = width-x, height-y
	}
	c.Width, c.Height = int(min(width, 2*widest)), int(min(height, 2*widest))
}

// ParseHEVCConfig reads an HEVCDecoderConfigurationRecord (ISO/IEC 14496-15,
// section 8.3.3.1), borrowed until it returns, up to its first sequence
// parameter set.
func ParseHEVCConfig(p []byte) (VideoConfig, error) {
	const before, sequenceSet = 22, 33
	if len(p) <= before {
		return VideoConfig{}, errSmall("HEVC", p)
	}
	arrays, rest := p[before], p[before+1:]
	for range arrays {
		if len(rest) < 3 {
			return VideoConfig{}, errSmall("HEVC", p)
		}
		kind, n := rest[0]&0x3f, binary.BigEndian.Uint16(rest[1:])
		rest = rest[3:]
		for range n {
			if len(rest) < 2 || len(rest)-2 < int(binary.BigEndian.Uint16(rest)) {
				return VideoConfig{}, errSmall("HEVC", p)
			}
			size := int(binary.BigEndian.Uint16(rest))
			if kind == sequenceSet {
				return parseHEVCSet(rest[2 : 2+size])
			}
			rest = rest[2+size:]
		}
	}
	return VideoConfig{}, fmt.Errorf("%w: HEVC configuration without a sequence parameter set", ErrSyntax)
}

// parseHEVCSet reads a sequence parameter set (H.265, section 7.3.2.2.1), its
// unit's two bytes included, up to the picture's size.
func parseHEVCSet(p []byte) (VideoConfig, error) {
	b := bits{p: p[min(2, len(p)):], escaped: true}
	c := VideoConfig{Codec: CodecHEVC}
	b.skip(4)
	layers := int(b.read(3))
	b.skip(1)
	b.skip(3)
	c.Profile = int(b.read(5))
	b.skip(80)
	c.Level = int(b.read(8))
	present := b.read(2 * layers)
	if layers > 0 {
		b.skip(2 * (8 - layers))
	}
	for i := range layers {
		flags := present >> (2 * (layers - 1 - i))
		if flags&2 != 0 {
			b.skip(88)
		}
		if flags&1 != 0 {
			b.skip(8)
		}
	}
	b.ue()
	chroma := b.ue()
	if chroma == 3 {
		b.skip(1)
	}
	width, height := b.ue(), b.ue()
	if width == 0 || height == 0 || width > widest || height > widest {
		b.bad = true
	}
	unitX, unitY := chromaUnits(chroma)
	b.crop(&c, uint64(width), uint64(height), unitX, unitY)
	if b.short || b.bad {
		return VideoConfig{}, errConfig("HEVC sequence parameter set", &b)
	}
	return c, nil
}

func errSmall(what string, p []byte) error {
	return fmt.Errorf("flv: %s configuration: cut off after %d bytes: %w", what, len(p), io.ErrUnexpectedEOF)
}
