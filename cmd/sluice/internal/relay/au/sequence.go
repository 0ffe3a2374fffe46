package au

import (
	"fmt"
	"slices"

	"github.com/bluenviron/mediacommon/v2/pkg/bits"

	"github.com/sluice-go/sluice/flv"
)

// PlainSequence returns a sequence header without timing, decoder model and display
// delays (AV1 Bitstream, section 5.5), which say nothing of how pictures are decoded, as
// an OBU without extension and size. The library that writes MP4 takes no header that
// has them, and those of SVT-AV1 do. The header is borrowed until the call returns. An
// error matches ErrSyntax.
func PlainSequence(sequence []byte) ([]byte, error) {
	if OBUType(sequence) != obuSequenceHeader {
		return nil, fmt.Errorf("%w: an OBU of type %d, no sequence header", ErrSyntax, OBUType(sequence))
	}
	_, payload, err := SplitOBU(sequence)
	if err != nil {
		return nil, err
	}
	c := bitCopy{from: payload, to: []byte{obuSequenceHeader << 3}}
	c.keep(4) // profile, still picture
	if reduced := c.keep(1); reduced == 0 {
		c.operatingPoints()
	}
	for left := len(payload)*8 - c.at; left > 0 && c.err == nil; left = len(payload)*8 - c.at {
		c.keep(min(left, 32))
	}
	if c.err != nil {
		return nil, fmt.Errorf("%w: AV1 sequence header: %w", ErrSyntax, c.err)
	}
	// What was left out may have made the zeros after the last bit a whole byte.
	for n := len(c.to); n > 1 && c.to[n-1] == 0; n = len(c.to) {
		c.to = c.to[:n-1]
	}
	return c.to, nil
}

// PlainSequence is that of the configuration's sequence header.
func (c *Config) PlainSequence() ([]byte, error) {
	for _, s := range c.Sets {
		if OBUType(s) == obuSequenceHeader {
			return PlainSequence(s)
		}
	}
	return nil, fmt.Errorf("%w: AV1 without a sequence header", ErrSyntax)
}

// unsequenced reports whether the sequence header of AV1 stands in key frames alone (AV1 Codec ISO
// Media File Format Binding, section 2.3.4).
func (c *Config) unsequenced() bool {
	return c.Codec == flv.CodecAV1 && !slices.ContainsFunc(c.Sets, func(p []byte) bool { return OBUType(p) == obuSequenceHeader })
}

// A bitCopy copies bits, and leaves some out. After an error it does nothing.
type bitCopy struct {
	from []byte
	at   int // in bits
	to   []byte
	used int // bits of the last byte of to, 0 or 8: all of them
	err  error
}

// skip returns the next n bits, up to 32, and leaves them out.
func (c *bitCopy) skip(n int) (v uint64) {
	if c.err == nil && n > 0 { // of no bits behind the last byte the library reads one
		v, c.err = bits.ReadBits(c.from, &c.at, n)
	}
	return v
}

// keep returns the next n bits, up to 32, and copies them.
func (c *bitCopy) keep(n int) uint64 {
	v := c.skip(n)
	if c.err == nil {
		c.put(v, n)
	}
	return v
}

func (c *bitCopy) put(v uint64, n int) {
	for n--; n >= 0; n-- {
		if c.used &= 7; c.used == 0 {
			c.to = append(c.to, 0)
		}
		c.to[len(c.to)-1] |= byte(v>>n&1) << (7 - c.used)
		c.used++
	}
}

// operatingPoints copies what stands between the profile and the picture's size.
func (c *bitCopy) operatingPoints() {
	model, delay := false, 0 // bits of a decoder's buffer delays
	if c.skip(1) == 1 {      // timing
		c.skip(32)
		c.skip(32)
		if c.skip(1) == 1 { // equal intervals
			c.skipVLC()
		}
		if model = c.skip(1) == 1; model {
			delay = int(c.skip(5)) + 1
			c.skip(32)
			c.skip(5 + 5)
		}
	}
	c.put(0, 1) // no timing
	display := c.skip(1) == 1
	c.put(0, 1) // no display delays
	for range c.keep(5) + 1 {
		c.keep(12)
		if c.keep(5) > 7 {
			c.keep(1) // the tier
		}
		if model && c.skip(1) == 1 {
			c.skip(delay)
			c.skip(delay)
			c.skip(1)
		}
		if display && c.skip(1) == 1 {
			c.skip(4)
		}
	}
}

// skipVLC leaves out a number of variable length (section 4.10.3).
func (c *bitCopy) skipVLC() {
	zeros := 0
	for c.err == nil && c.skip(1) == 0 {
		zeros++
	}
	if zeros < 32 {
		c.skip(zeros)
	}
}
