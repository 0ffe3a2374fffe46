package au

import (
	"slices"

	"github.com/bluenviron/mediacommon/v2/pkg/bits"
)

// Elements of a frame of AAC (ISO/IEC 14496-3, table 4.85).
const (
	AACSingle  = 0 // a channel
	AACPair    = 1 // two
	AACLow     = 3 // one of low frequencies
	AACProgram = 5 // says which of these there are
	AACEnd     = 7 // of the frame
)

// An AACElement is one with channels.
type AACElement struct{ Kind, Tag int }

// aacElements are those of a frame, by the configuration of channels (table 1.19).
var aacElements = [][]int{
	1: {AACSingle}, 2: {AACPair}, 3: {AACSingle, AACPair}, 4: {AACSingle, AACPair, AACSingle}, 5: {AACSingle, AACPair, AACPair},
	6: {AACSingle, AACPair, AACPair, AACLow}, 7: {AACSingle, AACPair, AACPair, AACPair, AACLow},
}

// AACElements returns the elements with channels that frames of AAC-LC or HE-AAC with this AudioSpecificConfig
// have; nil for others, and when it gives no number of channels but spells them out.
func AACElements(config []byte) (list []AACElement) {
	const lc = 2
	h, ok := readAACHead(config)
	if !ok || h.kind != lc || h.channels >= len(aacElements) {
		return nil
	}
	var tags [AACEnd]int
	for _, kind := range aacElements[h.channels] {
		list = append(list, AACElement{kind, tags[kind]})
		tags[kind]++
	}
	return list
}

// AACProgramElement returns the element of a frame that says which channels there are, without a comment, of an
// AudioSpecificConfig that has it; nil for others. The headers of ADTS have no place for it.
func AACProgramElement(config []byte) []byte {
	h, ok := readAACHead(config)
	p := program{p: config, at: h.at}
	if !ok || h.channels != 0 || !p.read() {
		return nil
	}
	return p.copy([]byte{AACProgram << 5}, 3, h.at)
}

// AACConfigOfProgram returns an AudioSpecificConfig with the element that a frame begins with which says which
// channels there are: config, of two bytes, has no number of channels. nil: the frame begins otherwise.
func AACConfigOfProgram(config, frame []byte) []byte {
	const kind = 3 // bits
	p := program{p: frame, at: kind}
	if len(frame) == 0 || frame[0]>>(8-kind) != AACProgram || !p.read() {
		return nil
	}
	return p.copy(slices.Clone(config), 8*len(config), kind)
}

// An aacHead is what an AudioSpecificConfig begins with (ISO/IEC 14496-3, tables 1.15 and 4.1).
type aacHead struct {
	kind     int  // of AAC, that below HE-AAC
	rate     int  // of it, in Hz
	channels int  // their number; 0: they are spelled out
	short    bool // frames of 960 samples, or of as much less
	at       int  // bits
}

// readAACHead reads it; ok is false where it is cut off.
func readAACHead(config []byte) (h aacHead, ok bool) {
	p := program{p: config}
	rate := func() int {
		if i := p.take(4); i != 15 {
			return aacRates[i]
		}
		return p.take(24)
	}
	kind := func() int {
		if k := p.take(5); k != 31 {
			return k
		}
		return 32 + p.take(6)
	}
	h.kind, h.rate = kind(), rate()
	h.channels = p.take(4)
	if h.kind == 5 || h.kind == 29 { // HE-AAC
		rate()
		h.kind = kind()
	}
	h.short = p.take(1) == 1
	if p.take(1) == 1 {
		p.take(14)
	}
	p.take(1)
	h.at = p.at
	return h, !p.failed
}

// aacRates are the sampling rates by index (table 1.18).
var aacRates = [16]int{96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350}

// aacFrame returns how many samples a frame of AAC has at the rate that is heard; 0 when that is not known.
func aacFrame(config []byte, heard int) int {
	h, _ := readAACHead(config) // what is behind the kind may be missing
	n, less := 1024, 64
	switch h.kind {
	case 23, 39: // AAC-LD and AAC-ELD
		n, less = 512, 32
	case 42: // xHE-AAC: it says so elsewhere
		return 0
	}
	if h.short {
		n -= less
	}
	if heard > h.rate {
		n *= 2 // HE-AAC, which may leave the rate as it is
	}
	return n
}

// A program reads the element that says which channels there are, from a place in bits on.
type program struct {
	p      []byte
	at     int
	failed bool // there are not as many bits
}

func (p *program) take(n int) int {
	v, err := bits.ReadBits(p.p, &p.at, n)
	if err != nil {
		p.failed = true
	}
	return int(v)
}

// read reads it up to its comment (table 4.2). It returns false when it is cut off, or has no channel.
func (p *program) read() bool {
	p.take(4 + 2 + 4)
	wide := p.take(4) + p.take(4) + p.take(4)
	low := p.take(2)
	others, coupling := p.take(3), p.take(4)
	for _, n := range []int{4, 4, 3} {
		if p.take(1) == 1 {
			p.take(n)
		}
	}
	for range wide {
		p.take(1 + 4)
	}
	for range low {
		p.take(4)
	}
	for range others {
		p.take(4)
	}
	for range coupling {
		p.take(5)
	}
	return !p.failed && wide+low > 0
}

// copy appends the bits from a place to where read has ended behind those that dst has, and an empty comment.
func (p *program) copy(dst []byte, have, from int) []byte {
	out := make([]byte, (have+p.at-from+7)/8+1)
	copy(out, dst)
	for have, at := have, from; at < p.at; {
		bits.WriteFlagUnsafe(out, &have, bits.ReadFlagUnsafe(p.p, &at))
	}
	return out
}
