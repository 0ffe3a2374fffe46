package evidence

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

const (
	// keptStacks is how many stacks of a profile are kept: enough for a flame
	// graph in which the narrowest stack could be seen.
	keptStacks = 2000
	// distinctStacks bounds what a stackSet remembers of an input.
	distinctStacks = 200_000
	// deepest is how many frames of one stack are kept.
	deepest = 512
)

// What stands for frames and stacks that were not kept.
const (
	otherFrames  = "(other)"
	deeperFrames = "(frames left out)"
)

// A stackSet adds up values by stack. Frames are numbered, and a stack is the
// text of its numbers, so that many deep stacks take little.
type stackSet struct {
	numbers map[Frame]uint32
	frames  []Frame
	stacks  map[string]*tally
	other   tally // of stacks that came when the set was full
	key     []byte
}

type tally struct{ value, count int64 }

func newStackSet() *stackSet {
	return &stackSet{numbers: make(map[Frame]uint32), stacks: make(map[string]*tally)}
}

// add adds to the value of a stack, the innermost frame first. Frames are
// borrowed for the call; their strings are kept.
func (s *stackSet) add(frames []Frame, value, count int64) {
	s.key = s.key[:0]
	if len(frames) > deepest {
		const half = deepest / 2
		s.number(frames[:half])
		s.number([]Frame{{Func: deeperFrames}})
		s.number(frames[len(frames)-half:])
	} else {
		s.number(frames)
	}
	t := s.stacks[string(s.key)]
	if t == nil {
		if len(s.stacks) >= distinctStacks {
			t = &s.other
		} else {
			t = new(tally)
			s.stacks[string(s.key)] = t
		}
	}
	t.value += value
	t.count += count
}

func (s *stackSet) number(frames []Frame) {
	for _, f := range frames {
		n, ok := s.numbers[f]
		if !ok {
			n = uint32(len(s.frames))
			s.numbers[f] = n
			s.frames = append(s.frames, f)
		}
		s.key = binary.BigEndian.AppendUint32(s.key, n)
	}
}

// stack gives the frames of a key.
func (s *stackSet) stack(key string) []Frame {
	frames := make([]Frame, 0, len(key)/4)
	for i := 0; i+4 <= len(key); i += 4 {
		frames = append(frames, s.frames[binary.BigEndian.Uint32([]byte(key[i:i+4]))])
	}
	return frames
}

// profile returns the stacks whose value is above nothing, largest first, with
// at most kept of them by themselves.
func (s *stackSet) profile(unit string, kept int) *Profile {
	type entry struct {
		key string
		tally
	}
	var entries []entry
	for key, t := range s.stacks {
		if t.value > 0 {
			entries = append(entries, entry{key, *t})
		}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.key, b.key))
	})
	p := &Profile{Unit: unit, Stacks: []Stack{}}
	rest := s.other
	for i, e := range entries {
		p.Total = plus(p.Total, e.value)
		if i >= kept {
			rest.value = plus(rest.value, e.value)
			rest.count += e.count
			continue
		}
		p.Stacks = append(p.Stacks, Stack{Value: e.value, Count: max(e.count, 0), Frames: s.stack(e.key)})
	}
	if rest.value > 0 {
		if s.other.value > 0 {
			p.Total = plus(p.Total, s.other.value)
		}
		p.Stacks = append(p.Stacks, Stack{Value: rest.value, Count: max(rest.count, 0), Frames: []Frame{{Func: otherFrames}}})
	}
	return p
}

// plus adds what is not negative and stops at the largest number, so that a
// profile with absurd values has no negative total.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
