package flow

import (
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// related returns the relation of v to the resource: it is in v, v leads to it, or v is
// an address within it.
func (x *explorer) related(v ssa.Value, s *state) (best rel, ok bool) {
	consider := func(r rel) {
		if r != errOf && r != okOf && r != askOf && (!ok || r < best) {
			best, ok = r, true
		}
	}
	if _, isConst := v.(*ssa.Const); isConst {
		return 0, false
	}
	p := x.point(v)
	for h, r := range s.holders {
		switch {
		case h.Root == v && !h.cell:
			consider(r)
		case h.cell && isAddress(v):
			if _, in := h.beneath(p); in {
				consider(r)
			} else if rest, in := p.beneath(h.Place); in && x.part(v.Type()) && !(x.pooled() && strings.Contains(rest, "*")) {
				consider(r) // what a pooled object leads to is another one
			}
		case !h.cell && h.Path == "" && r <= stale && derefs(v, h.Root):
			consider(max(r, viewOf))
		}
	}
	return best, ok
}

func isAddress(v ssa.Value) bool {
	switch v.Type().Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map, *types.Interface:
		return true
	}
	return false
}

// part reports whether what t points to can hold the resource.
func (x *explorer) part(t types.Type) bool {
	p, ok := t.Underlying().(*types.Pointer)
	return ok && (x.owned(p.Elem()) || x.carrier(p.Elem()))
}

// survives reports whether a part of type t still is the resource, or a view.
func (x *explorer) survives(t types.Type, r rel) bool {
	if r == isIt && x.src.Kind != Borrow && x.src.Kind != View && x.src.Kind != Lent {
		return x.owned(t)
	}
	return x.carrier(t)
}

// derefs reports whether addr is within what root leads to, or root itself.
func derefs(addr, root ssa.Value) bool {
	for range maxWay {
		if addr == root {
			return true
		}
		switch v := addr.(type) {
		case *ssa.FieldAddr:
			addr = v.X
		case *ssa.IndexAddr:
			addr = v.X
		default:
			return false
		}
	}
	return false
}
