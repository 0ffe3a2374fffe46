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
// have; nil for others, and when it does not say them.
func AACElements(config []byte) (list []AACElement) {
	const lc = 2
	kind, number, at, ok := channelsOf(config)
	if !ok || kind != lc || number >= len(aacElements) {
		return nil
	}
	if number == 0 {
		p := program{p: config, at: at}
		return p.read()
	}
	var tags [AACEnd]int
	for _, kind := range aacElements[number] {
		list = append(list, AACElement{kind, tags[kind]})
		tags[kind]++
	}
	return list
}

// AACProgramElement returns the element of a frame that says which channels there are, without a comment, of an
// AudioSpecificConfig that has it; nil for others. The headers of ADTS have no place for it.
func AACProgramElement(config []byte) []byte {
	_, number, at, ok := channelsOf(config)
	p := program{p: config, at: at}
	if !ok || number != 0 || p.read() == nil {
		return nil
	}
	return p.copy([]byte{AACProgram << 5}, 3, at)
}

// AACConfigOfProgram returns an AudioSpecificConfig with the element that a frame begins with which says which
// channels there are: config, of two bytes, has no number of channels. nil: the frame begins otherwise.
func AACConfigOfProgram(config, frame []byte) []byte {
	const kind = 3 // bits
	p := program{p: frame, at: kind}
	if len(frame) == 0 || frame[0]>>(8-kind) != AACProgram || p.read() == nil {
		return nil
	}
	return p.copy(slices.Clone(config), 8*len(config), kind)
}

// channelsOf returns the kind of AAC of an AudioSpecificConfig, that below HE-AAC, the number that it has for
// its channels, and the place in bits where they are spelled out if it is 0 (tables 1.15 and 4.1).
func channelsOf(config []byte) (kind, number, at int, ok bool) {
	p := program{p: config}
	rate := func() {
		if p.take(4) == 15 {
			p.take(24)
		}
	}
	kind = p.take(5)
	rate()
	number = p.take(4)
	if kind == 5 || kind == 29 { // HE-AAC
		rate()
		kind = p.take(5)
	}
	p.take(1)
	if p.take(1) == 1 {
		p.take(14)
	}
	p.take(1)
	return kind, number, p.at, !p.short
}

// A program reads the element that says which channels there are, from a place in bits on.
type program struct {
	p     []byte
	at    int
	short bool
}

func (p *program) take(n int) int {
	v, err := bits.ReadBits(p.p, &p.at, n)
	if err != nil {
		p.short = true
	}
	return int(v)
}

// read reads it up to its comment (table 4.2). It returns nil when it is cut off, or has no channel.
func (p *program) read() (list []AACElement) {
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
		list = append(list, AACElement{AACSingle + p.take(1), p.take(4)})
	}
	for range low {
		list = append(list, AACElement{AACLow, p.take(4)})
	}
	for range others {
		p.take(4)
	}
	for range coupling {
		p.take(5)
	}
	if p.short {
		return nil
	}
	return list
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
