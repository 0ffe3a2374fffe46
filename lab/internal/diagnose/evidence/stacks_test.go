package evidence

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func stackOf(names ...string) []Frame {
	frames := make([]Frame, len(names))
	for i, name := range names {
		frames[i] = Frame{Func: name}
	}
	return frames
}

func TestStacksAddUp(t *testing.T) {
	s := newStackSet()
	s.add(stackOf("read", "main"), 5, 1)
	s.add(stackOf("write", "main"), 7, 1)
	s.add(stackOf("read", "main"), 5, 2)
	s.add(stackOf("before", "main"), 3, 1)
	s.add(stackOf("before", "main"), -3, -1)
	s.add(nil, 1, 1)
	p := s.profile("ns", 10)
	if p.Total != 18 || p.Unit != "ns" || len(p.Stacks) != 3 {
		t.Fatalf("got %+v", p)
	}
	if top := p.Stacks[0]; top.Value != 10 || top.Count != 3 || !slices.Equal(top.Frames, stackOf("read", "main")) {
		t.Errorf("on top is %+v", top)
	}
}

func TestTheSmallestStacksGoTogether(t *testing.T) {
	s := newStackSet()
	for i := range 100 {
		s.add(stackOf(fmt.Sprint("f", i), "main"), int64(i+1), 1)
	}
	p := s.profile("B", 10)
	last := p.Stacks[len(p.Stacks)-1]
	if len(p.Stacks) != 11 || last.Frames[0].Func != otherFrames || last.Value != 90*91/2 || last.Count != 90 || p.Total != 100*101/2 {
		t.Errorf("%d stacks, the last %+v, total %d", len(p.Stacks), last, p.Total)
	}
}

// Random histories against a map.
func TestStacksAgainstAModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	s, model := newStackSet(), map[string]int64{}
	for range 5000 {
		var names []string
		for range r.IntN(5) {
			names = append(names, string(rune('a'+r.IntN(4))))
		}
		v := int64(r.IntN(20) - 5)
		s.add(stackOf(names...), v, 1)
		model[fmt.Sprint(names)] += v
	}
	var total int64
	for key, v := range model {
		if v <= 0 {
			delete(model, key)
			continue
		}
		total += v
	}
	p := s.profile("ns", 1<<20)
	if p.Total != total || len(p.Stacks) != len(model) {
		t.Fatalf("total %d of %d stacks, want %d of %d", p.Total, len(p.Stacks), total, len(model))
	}
	for i, st := range p.Stacks {
		var names []string
		for _, f := range st.Frames {
			names = append(names, f.Func)
		}
		if model[fmt.Sprint(names)] != st.Value {
			t.Errorf("%v has %d, want %d", names, st.Value, model[fmt.Sprint(names)])
		}
		if i > 0 && st.Value > p.Stacks[i-1].Value {
			t.Error("a larger one stands behind a smaller one")
		}
	}
}

func TestAStackThatIsTooDeepKeepsBothEnds(t *testing.T) {
	frames := make([]Frame, 10*deepest)
	for i := range frames {
		frames[i] = Frame{Func: "f", Line: i}
	}
	s := newStackSet()
	s.add(frames, 1, 1)
	got := s.profile("ns", 1).Stacks[0].Frames
	if len(got) != deepest+1 || got[0] != frames[0] || got[deepest] != frames[len(frames)-1] || got[deepest/2].Func != deeperFrames {
		t.Errorf("%d frames from %v to %v", len(got), got[0], got[len(got)-1])
	}
}

func TestAbsurdValuesHaveNoNegativeTotal(t *testing.T) {
	s := newStackSet()
	s.add(stackOf("a"), math.MaxInt64, 1)
	s.add(stackOf("b"), math.MaxInt64, 1)
	s.add(stackOf("c"), math.MaxInt64, 1)
	if p := s.profile("ns", 1); p.Total != math.MaxInt64 || p.Stacks[1].Value != math.MaxInt64 {
		t.Errorf("got %+v", p)
	}
}
