package flow

import (
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/sluice-go/sluice/vet/internal/effect"
)

// A function may release a part of what it is given, as a method does that puts a
// field into a pool: an effect with a path. The part is what the place holds at the
// call, and the path must still lead to it afterwards.

// endedPart adds what a call has released of an operand, for uses that follow.
func (f *finder) endedPart(in ssa.CallInstruction, place Place) {
	call, ok := in.(*ssa.Call)
	if !ok || strings.Contains(place.Path, "[]") || f.local(place.Root) {
		return
	}
	t := typeAt(place.Root.Type(), place.Path)
	if t == nil {
		return
	}
	name := strings.Trim(place.Path[strings.LastIndexByte(place.Path, '.')+1:], "*")
	f.list = append(f.list, &Source{
		Kind: Found, Start: call, Value: call, Result: -1, Type: t, Text: name, Pos: in.Pos(), Operand: effect.None,
		cell: true, place: place, ended: true,
	})
}

// typeAt is the type of what path leads to from a value of type t, nil when that is
// not by fields and pointers only.
func typeAt(t types.Type, path string) types.Type {
	for path != "" && t != nil {
		if path[0] == '*' {
			p, ok := t.Underlying().(*types.Pointer)
			if !ok {
				return nil
			}
			t, path = p.Elem(), path[1:]
			continue
		}
		s, ok := elem(t.Underlying()).Underlying().(*types.Struct)
		if !ok || path[0] != '.' {
			return nil
		}
		name := path[1:]
		if end := strings.IndexAny(name, ".*[#"); end >= 0 {
			name = name[:end]
		}
		t, path = nil, path[1+len(name):]
		for f := range s.Fields() {
			if f.Name() == name {
				t = f.Type()
			}
		}
	}
	return t
}

// part records that the function releases, on every way through it, what a field of a
// parameter or a captured variable leads to, and leaves it there.
func (s *summary) part(x *explorer) {
	n, ok := s.number(x.src.place.Root)
	if !ok || x.escaped || x.gaveUp || x.src.Start == nil || len(x.src.place.Path) > 80 {
		return
	}
	if _, captured := x.src.place.Root.(*ssa.FreeVar); x.src.place.Path == "" && !captured {
		return
	}
	left := s.returns() // without a way there that is known
	for _, e := range x.exits {
		if e.ret == nil {
			continue
		}
		if e.status != Released || e.replaced || !x.src.Start.Block().Dominates(e.ret.Block()) {
			return
		}
		delete(left, e.ret)
	}
	if len(left) > 0 {
		return
	}
	s.put(effect.Effect{Kind: effect.Released, Operand: n, Path: x.src.place.Path, Result: effect.None})
}

// returns are the function's return statements.
func (s *summary) returns() map[*ssa.Return]bool {
	list := map[*ssa.Return]bool{}
	for _, b := range s.fn.Blocks {
		if ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return); ok {
			list[ret] = true
		}
	}
	return list
}

// consumeParts ends what the call releases of its operands. It returns the operands
// that are dealt with by that.
func (x *explorer) consumeParts(in ssa.CallInstruction, c *ssa.CallCommon, effects []effect.Effect, s *state) (parts map[ssa.Value]bool, goOn bool) {
	for _, e := range effects {
		if e.Path == "" || e.Kind != effect.Released {
			continue
		}
		v := operand(c, e.Operand)
		if v == nil || s.holders[holder{x.at(v, e.Path), true}] != isIt {
			continue
		}
		if !x.consume(in, v, e.Kind, s) {
			return nil, false
		}
		if parts == nil {
			parts = map[ssa.Value]bool{}
		}
		parts[v] = true
	}
	return parts, true
}

// dropAssigned forgets what fields hold that the callee reaches by a pointer: it may
// have assigned to them.
func (x *explorer) dropAssigned(c *ssa.CallCommon, parts map[ssa.Value]bool, s *state) {
	if x.src.Kind != Found {
		return
	}
	for _, v := range operands(c) {
		if parts[v] || !isPointer(v.Type()) {
			continue
		}
		p := x.point(v)
		for h := range s.holders {
			if _, in := h.beneath(p); h.cell && in && !x.home(h.Root) && h.Place != p {
				delete(s.holders, h)
			}
		}
	}
}
