package flv

import "fmt"

// ParseAV1Config reads an AV1CodecConfigurationRecord (AV1 Codec ISO Media File
// Format Binding, section 2.3.3), borrowed until it returns. The size is known
// when the record has the sequence header, which it should.
func ParseAV1Config(p []byte) (VideoConfig, error) {
	if len(p) < 4 {
		return VideoConfig{}, errSmall("AV1", p)
	}
	if p[0] != 0x81 {
		return VideoConfig{}, fmt.Errorf("%w: AV1 configuration of version %#02x", ErrSyntax, p[0])
	}
	c := VideoConfig{Codec: CodecAV1, Profile: int(p[1] >> 5), Level: int(p[1] & 0x1f)}
	for rest := p[4:]; len(rest) > 0; {
		kind, body, next, ok := nextOBU(rest)
		if !ok {
			return VideoConfig{}, errSmall("AV1", p)
		}
		if kind == obuSequenceHeader {
			err := c.sequenceHeader(body)
			return c, err
		}
		rest = next
	}
	return c, nil
}

const obuSequenceHeader = 1

// nextOBU cuts the first unit off p (AV1 Bitstream, section 5.3).
func nextOBU(p []byte) (kind byte, body, rest []byte, ok bool) {
	const extension, sized = 4, 2
	head, at := p[0], 1
	if head&extension != 0 {
		at++
	}
	if at > len(p) {
		return 0, nil, nil, false
	}
	size := len(p) - at
	if head&sized != 0 {
		v, n := uint64(0), 0
		for n < 8 && at+n < len(p) {
			c := p[at+n]
			v |= uint64(c&0x7f) << (7 * n)
			n++
			if c&0x80 == 0 {
				break
			}
		}
		at += n
		if n == 0 || v > uint64(len(p)-at) {
			return 0, nil, nil, false
		}
		size = int(v)
	}
	return head >> 3 & 0x0f, p[at : at+size], p[at+size:], true
}

// sequenceHeader reads a sequence header up to the picture's size (section 5.5).
func (c *VideoConfig) sequenceHeader(p []byte) error {
	b := bits{p: p}
	b.skip(3 + 1)
	if b.flag() { // a still picture's short form
		b.skip(5)
	} else {
		b.av1Points(c)
	}
	wide, high := int(b.read(4))+1, int(b.read(4))+1
	c.Width, c.Height = int(b.read(wide))+1, int(b.read(high))+1
	if b.short || b.bad {
		return errConfig("AV1 sequence header", &b)
	}
	return nil
}

// av1Points passes over timing and operating points, and takes the frame rate
// on the way.
func (b *bits) av1Points(c *VideoConfig) {
	delay := 0 // bits of a decoder's buffer delays
	if b.flag() {
		unit, scale := b.read(32), b.read(32)
		if b.flag() { // equal intervals, of so many units
			if n := b.ue() + 1; unit > 0 {
				c.FrameRate = float64(scale) / float64(unit) / float64(n)
			}
		}
		if b.flag() {
			delay = int(b.read(5)) + 1
			b.skip(32 + 5 + 5)
		}
	}
	displayDelay := b.flag()
	for range b.read(5) + 1 {
		b.skip(12)
		if b.read(5) > 7 {
			b.skip(1)
		}
		if delay > 0 && b.flag() {
			b.skip(2*delay + 1)
		}
		if displayDelay && b.flag() {
			b.skip(4)
		}
	}
}
