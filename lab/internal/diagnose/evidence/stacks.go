package evidence

import (
	"cmp"
	"fmt"
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

type stackSet struct {
	stacks map[string]*Stack
	other  Stack // of stacks that came when the set was full
	key    []byte
}

func newStackSet() *stackSet { return &stackSet{stacks: make(map[string]*Stack)} }

// add adds to the value of a stack, the innermost frame first. Frames are
// borrowed for the call; their strings are kept.
func (s *stackSet) add(frames []Frame, value, count int64) {
	if len(frames) > deepest {
		const half = deepest / 2
		frames = slices.Concat(frames[:half], []Frame{{Func: deeperFrames}}, frames[len(frames)-half:])
	}
	s.key = s.key[:0]
	for _, f := range frames {
		s.key = fmt.Appendf(s.key, "%s\n%s\n%d\n", f.Func, f.File, f.Line)
	}
	t := s.stacks[string(s.key)]
	if t == nil {
		if t = &s.other; len(s.stacks) < distinctStacks {
			t = &Stack{Frames: slices.Clone(frames)}
			s.stacks[string(s.key)] = t
		}
	}
	t.Value += value
	t.Count += count
}

// profile returns the stacks whose value is above nothing, largest first, with
// at most kept of them by themselves.
func (s *stackSet) profile(unit string, kept int) *Profile {
	var keys []string
	for key, t := range s.stacks {
		if t.Value > 0 {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(s.stacks[b].Value, s.stacks[a].Value), cmp.Compare(a, b))
	})
	p := &Profile{Unit: unit, Stacks: []Stack{}, Total: max(0, s.other.Value)}
	rest := s.other
	for i, key := range keys {
		t := *s.stacks[key]
		t.Count = max(t.Count, 0)
		p.Total = plus(p.Total, t.Value)
		if i >= kept {
			rest.Value, rest.Count = plus(rest.Value, t.Value), rest.Count+t.Count
			continue
		}
		p.Stacks = append(p.Stacks, t)
	}
	if rest.Value > 0 {
		p.Stacks = append(p.Stacks, Stack{Value: rest.Value, Count: max(rest.Count, 0), Frames: []Frame{{Func: otherFrames}}})
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
