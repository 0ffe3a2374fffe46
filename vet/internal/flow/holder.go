package flow

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// project moves what is at path in from to v.
func (x *explorer) project(v, from ssa.Value, path string, s *state) {
	for h, r := range s.holders {
		if h.cell || h.Root != from {
			continue
		}
		if rest, ok := cutPath(h.Path, path); ok {
			s.holders[holder{Place{v, rest}, false}] = r
		} else if h.Path == "" && x.survives(v.Type(), r) {
			s.holders[holder{Place{v, ""}, false}] = r
		}
	}
}

func (x *explorer) same(v, from ssa.Value, s *state) {
	for h, r := range s.holders {
		if !h.cell && h.Root == from {
			s.holders[holder{Place{v, h.Path}, false}] = r
		}
	}
}

// address takes the address of a part that holds bytes itself.
func (x *explorer) address(v, from ssa.Value, s *state) {
	r, ok := s.holders[holder{Place{from, ""}, false}]
	if !ok || r > stale || isByte(elem(v.Type())) || !x.carrier(v.Type()) {
		return
	}
	s.holders[holder{Place{v, ""}, false}] = max(r, viewOf)
}

func (x *explorer) assert(in *ssa.TypeAssert, s *state) {
	prefix := ""
	if in.CommaOk {
		prefix = tuplePath(0)
	}
	for h, r := range s.holders {
		if !h.cell && h.Root == in.X {
			s.holders[holder{Place{in, prefix + h.Path}, false}] = r
			if in.CommaOk && r == errOf { // an error of a type: there is one
				s.holders[holder{Place{in, tuplePath(1)}, false}] = r
			}
		}
	}
}

// slice cuts a slice: a part of a view is a view.
func (x *explorer) slice(in *ssa.Slice, s *state) {
	if _, ok := in.X.Type().Underlying().(*types.Pointer); !ok {
		if s.status == Given && behind(s.at, in) {
			return
		}
		x.same(in, in.X, s)
		if isZero(in.High) { // list[:0] has no elements
			for h := range s.holders {
				if h.Root == in && h.Path != "" {
					delete(s.holders, h)
				}
			}
		}
		return
	}
	p := x.point(in.X)
	for h, r := range s.holders {
		if !h.cell {
			continue
		}
		if rest, ok := h.beneath(p); ok {
			s.holders[holder{Place{in, rest}, false}] = r
		}
	}
}

// behind reports whether rest is what lies behind the part that call was given, as in
// Feed(p[:n]) and p[n:], or p[n+4:].
func behind(call ssa.Instruction, rest *ssa.Slice) bool {
	c, ok := call.(ssa.CallInstruction)
	return ok && rest.Low != nil && slices.ContainsFunc(operands(c.Common()), func(v ssa.Value) bool {
		part, ok := v.(*ssa.Slice)
		return ok && part.X == rest.X && part.High != nil && notBefore(rest.Low, part.High)
	})
}

// notBefore reports whether n is base, or base and a constant that is added to it, or of two constants the larger one.
func notBefore(n, base ssa.Value) bool {
	if n == base {
		return true
	}
	if x, ok := n.(*ssa.Const); ok {
		y, ok := base.(*ssa.Const)
		return ok && x.Int64() >= y.Int64()
	}
	sum, ok := n.(*ssa.BinOp)
	if !ok || sum.Op != token.ADD {
		return false
	}
	added := func(a, b ssa.Value) bool {
		k, ok := b.(*ssa.Const)
		return ok && a == base && k.Int64() >= 0
	}
	return added(sum.X, sum.Y) || added(sum.Y, sum.X)
}

func isZero(v ssa.Value) bool {
	k, ok := v.(*ssa.Const)
	return ok && k.Value != nil && k.Value.ExactString() == "0"
}

func (x *explorer) convert(in *ssa.Convert, s *state) {
	r, ok := x.related(in.X, s)
	if !ok {
		return
	}
	if isUnsafe(in.Type()) {
		s.holders[holder{Place{in, ""}, false}] = r
		return
	}
	if _, isSlice := in.X.Type().Underlying().(*types.Slice); isSlice {
		x.touch(in, in.X, s)
	}
}

// unop loads from memory.
func (x *explorer) unop(in *ssa.UnOp, s *state) {
	if in.Op == token.NOT {
		return
	}
	if in.Op != token.MUL {
		return
	}
	p := x.point(in.X)
	adds := map[holder]rel{}
	for h, r := range s.holders {
		switch {
		case h.cell:
			if rest, ok := h.beneath(p); ok {
				adds[holder{Place{in, rest}, false}] = r
			} else if _, ok := p.beneath(h.Place); ok && x.survives(in.Type(), r) {
				adds[holder{Place{in, ""}, false}] = r
			}
		case x.borrowed() && h.Path != "" && isList(h.Root) && h.Root == p.Root:
			// An element of a list that has some of the bytes. References are not
			// followed into lists, whose elements are not distinguished.
			if rest, ok := cutPath(h.Path, p.Path); ok {
				adds[holder{Place{in, rest}, false}] = r
			} else if _, ok := cutPath(p.Path, h.Path); ok && x.survives(in.Type(), r) {
				adds[holder{Place{in, ""}, false}] = r
			}
		case h.Path == "" && r <= stale && derefs(in.X, h.Root):
			// A load through the resource itself.
			if x.remains(in) {
				continue
			}
			x.touch(in, h.Root, s)
			if _, slice := in.Type().Underlying().(*types.Slice); x.carrier(in.Type()) && (slice || x.borrowed()) {
				adds[holder{Place{in, ""}, false}] = max(r, viewOf)
			}
		}
	}
	for h, r := range adds {
		s.holders[h] = r
	}
}

// remains reports whether in loads what is there after the release too: a field without
// bytes of a message that has its reference in another field, as a request with its body.
func (x *explorer) remains(in *ssa.UnOp) bool {
	field, ok := in.X.(*ssa.FieldAddr)
	if !ok || x.borrowed() || x.pooled() || x.owned(in.Type()) || x.carrier(in.Type()) || !exported(field.X.Type(), field) {
		return false
	}
	s, ok := elem(field.X.Type()).Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for f := range s.Fields() {
		if f.Exported() && x.owned(f.Type()) {
			return true
		}
	}
	return false
}

func isList(v ssa.Value) bool {
	_, ok := v.Type().Underlying().(*types.Slice)
	return ok
}
