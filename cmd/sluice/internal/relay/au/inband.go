package au

import (
	"bytes"
	"slices"

	"github.com/sluice-go/sluice/flv"
)

// InBand learns the configuration of a stream of H.264, HEVC or AV1 from the units that
// pass: parameter sets with the ids that it knows replace those. The zero value, with
// Codec set, is ready for use.
type InBand struct {
	Codec  flv.FourCC
	config *Config
	sets   [][]byte // copies
	bare   int      // key frames before there was enough
}

// Config returns what is known, nil before there is enough.
func (b *InBand) Config() *Config { return b.config }

// Start gives sets that came by another way, such as a session description. They are
// copied.
func (b *InBand) Start(sets [][]byte) { b.Learn(sets) }

// Learn looks at the units of a picture, borrowed until it returns. It reports whether
// the configuration has changed, and whether the picture is one to start at.
func (b *InBand) Learn(units [][]byte) (changed, key bool) {
	changed = b.forget(units)
	for _, u := range units {
		if b.Codec == flv.CodecAV1 {
			if OBUType(u) == obuSequenceHeader {
				key = true
				changed = b.learnAV1(u) || changed
			}
			continue
		}
		if isStart(b.Codec, u) || hasRecoveryPoint(b.Codec, u) {
			key = true
		}
		if IsSet(b.Codec, u) {
			changed = b.add(u) || changed
		}
	}
	if changed && b.Codec != flv.CodecAV1 {
		c, err := NewVideoConfig(b.Codec, b.sets)
		if err != nil {
			return false, key
		}
		b.config = c
	}
	return changed, key
}

// bareKeys is how many key frames may come before their parameter sets without a word:
// some encoders send these every few key frames.
const bareKeys = 4

// Bare takes note of a key frame that cannot be shown, since there is no configuration. It
// returns, once, what is to be said when they go on. The track is good as soon as the sets come.
func (b *InBand) Bare() (what string, say bool) {
	b.bare++
	return b.Codec.String() + ", until its parameter sets come: the encoder has to send them with key frames", b.bare == bareKeys
}

func (b *InBand) learnAV1(sequence []byte) bool {
	if b.config != nil && len(b.config.Sets) > 0 && bytes.Equal(b.config.Sets[0], sequence) {
		return false
	}
	c, err := NewAV1Config(sequence)
	if err != nil {
		return false
	}
	same := b.config != nil && bytes.Equal(b.config.Record, c.Record)
	b.config = c
	return !same
}

// forget drops the sequence parameter sets of H.264 that are not among those that come: encoders that change
// the size may give the next one another id, and some have several at a time.
func (b *InBand) forget(units [][]byte) (changed bool) {
	var come []uint32
	for _, u := range units {
		if b.Codec == flv.CodecAVC && NALType(b.Codec, u) == avcSPS {
			come = append(come, setID(b.Codec, u))
		}
	}
	n := len(b.sets)
	if len(come) > 0 {
		b.sets = slices.DeleteFunc(b.sets, func(s []byte) bool {
			return NALType(b.Codec, s) == avcSPS && !slices.Contains(come, setID(b.Codec, s))
		})
	}
	return len(b.sets) < n
}

// add reports whether the set is new.
func (b *InBand) add(set []byte) bool {
	t, id := NALType(b.Codec, set), setID(b.Codec, set)
	i := slices.IndexFunc(b.sets, func(o []byte) bool { return NALType(b.Codec, o) == t && setID(b.Codec, o) == id })
	switch {
	case !b.hasRoom(i, len(set)):
		return false
	case i < 0 && len(b.sets) < maxSets:
		b.sets = append(b.sets, bytes.Clone(set))
	case i < 0, bytes.Equal(b.sets[i], set):
		return false
	default:
		b.sets[i] = bytes.Clone(set)
	}
	return true
}

// hasRoom reports whether there may be n bytes in place of the set i, or beside all when that is negative.
func (b *InBand) hasRoom(i, n int) bool {
	for j, s := range b.sets {
		if j != i {
			n += len(s)
		}
	}
	return n <= maxRecord/2
}

// setID returns the id of a picture parameter set, and of a sequence parameter set of H.264. It is 0 for other
// sets: a stream has one of each.
func setID(codec flv.FourCC, set []byte) uint32 {
	skip := 0
	switch t := NALType(codec, set); {
	case codec == flv.CodecAVC && t == avcSPS:
		skip = 4
	case codec == flv.CodecAVC && t == avcPPS:
		skip = 1
	case codec == flv.CodecHEVC && t == hevcPPS:
		skip = 2
	default:
		return 0
	}
	// An Exp-Golomb number begins the set (H.264, section 9.1).
	p := unescaped(set, skip+8)
	p = p[min(skip, len(p)):]
	zeros := 0
	bit := func(i int) uint32 {
		if i/8 >= len(p) {
			return 1
		}
		return uint32(p[i/8]>>(7-i%8)) & 1
	}
	for zeros < 16 && bit(zeros) == 0 {
		zeros++
	}
	v := uint32(0)
	for i := range zeros + 1 {
		v = v<<1 | bit(zeros+i)
	}
	return v - 1
}
