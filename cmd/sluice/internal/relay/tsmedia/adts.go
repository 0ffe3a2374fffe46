package tsmedia

import (
	"bytes"
	"encoding/binary"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
)

// adts finds the frames of a track of AAC (ISO/IEC 14496-3, annex 1.A.2). The zero value is
// ready for use.
type adts struct {
	cutter
	fixed  [2]byte // what the header of config says of it
	config *au.Config
	joined int // frames with blocks that cannot be separated, since the last other one
}

// maxJoined is how many such frames, and no other, are no chance.
const maxJoined = 10

// adtsHeader is the length of a frame's header without a checksum, in bytes.
const adtsHeader = 7

// frames calls yield with the frames that end in p, borrowed until it returns, and whether
// they began before it: blocks, of which a frame of ADTS may have several. The error is
// yield's or a leftOut.
func (a *adts) frames(p []byte, yield func(c *au.Config, frame []byte, before bool) error) error {
	size := func(p []byte) int {
		n, _ := adtsSize(p)
		return n
	}
	return a.cut(p, size, func(frame []byte, before bool) error {
		_, header := adtsSize(frame)
		c := a.configOf(frame, header)
		if c == nil {
			return nil
		}
		return a.blocks(frame, header, func(block []byte) error { return yield(c, block, before) })
	})
}

// adtsSize returns the lengths of the frame at the front of p and of its header: more than p
// has when it is cut off, and 0 when there is none. Behind a frame comes another one: a
// header that stands by chance in what was cut by a loss is none.
func adtsSize(p []byte) (size, header int) {
	begins := func(p []byte) bool { return p[0] == 0xff && (len(p) < 2 || p[1]&0xf6 == 0xf0) }
	if !begins(p) {
		return 0, 0
	}
	if len(p) < adtsHeader {
		return adtsHeader, adtsHeader
	}
	header = adtsHeader
	if p[1]&1 == 0 {
		header += 2 // a checksum
	}
	size = int(p[3]&3)<<11 | int(p[4])<<3 | int(p[5])>>5
	if n := int(p[6] & 3); n > 0 && header > adtsHeader {
		header += 2 * n // where the other blocks begin
	}
	if size <= header || len(p) > size && !begins(p[size:]) {
		return 0, 0
	}
	return size, header
}

// blocks calls yield with the blocks of a frame, whose header has so many bytes. When there are several,
// their positions are in it, and a checksum is behind each; without checksums nothing says where they end.
func (a *adts) blocks(p []byte, header int, yield func(block []byte) error) error {
	n := int(p[6]&3) + 1
	if n > 1 && header == adtsHeader {
		if a.joined++; a.joined < maxJoined {
			return nil
		}
		return leftOut("AAC in frames of several blocks without checksums, which do not say where each begins")
	}
	a.joined = 0
	if n == 1 {
		return yield(p[header:])
	}
	const checksum = 2 // bytes, as many as of a position
	at := header
	for i := range n {
		end := len(p)
		if i+1 < n {
			end = header + int(binary.BigEndian.Uint16(p[adtsHeader+2*i:]))
		}
		if end > len(p) || end-checksum <= at {
			return nil // broken
		}
		if err := yield(p[at : end-checksum]); err != nil {
			return err
		}
		at = end
	}
	return nil
}

// configOf returns the configuration that a frame says, by its header and, where that has no number of
// channels, by the element that the frame begins with; nil for one that has no form elsewhere.
func (a *adts) configOf(p []byte, header int) *au.Config {
	fixed := [2]byte{p[2] &^ 2, p[3] & 0xc0}
	kind, rate, channels := p[2]>>6+1, p[2]>>2&15, p[2]&1<<2|p[3]>>6
	if a.config != nil && fixed == a.fixed && channels != 0 {
		return a.config
	}
	record := []byte{kind<<3 | rate>>1, rate<<7 | channels<<3}
	if channels == 0 {
		spelled := au.AACConfigOfProgram(record, p[header:])
		switch {
		case a.config != nil && fixed == a.fixed && (spelled == nil || bytes.Equal(spelled, a.config.Record)):
			return a.config // not each frame has it
		case spelled != nil:
			record = spelled
		}
	}
	c, err := au.NewAACConfig(record)
	if err != nil {
		return nil
	}
	a.fixed, a.config = fixed, c
	return a.config
}
