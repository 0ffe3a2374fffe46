package flow

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/sluice-go/sluice/vet/internal/models"
)

// step runs one instruction on s. It reports whether there is anything to
// follow on this path afterwards.
func (x *explorer) step(in ssa.Instruction, s *state) bool {
	if in == x.src.Start {
		return x.again(s)
	}
	if v, ok := in.(ssa.Value); ok {
		if v == x.src.Owner.Root {
			return false // the lender is another one now
		}
		if _, isCall := in.(*ssa.Call); !isCall && !isIndex(v) {
			s.forget(v)
		}
	}
	if x.opened(in, s) {
		x.escaped = true
		return false
	}
	switch in := in.(type) {
	case *ssa.UnOp:
		x.unop(in, s)
	case *ssa.Store:
		return x.store(in, s)
	case *ssa.Call:
		return x.call(in, s)
	case *ssa.Go:
		return x.goes(in, s)
	case *ssa.Defer:
		x.deferred(in, s)
	case *ssa.RunDefers:
		return x.runDefers(s)
	case *ssa.Return:
		x.returns(in, s)
		return false
	case *ssa.Panic:
		x.panics(in, s)
		return false
	case *ssa.Send:
		return x.sends(in, in.X, s)
	case *ssa.MapUpdate:
		return x.mapUpdate(in, s)
	case *ssa.MakeClosure:
		return x.closure(in, s)
	case *ssa.FieldAddr:
		x.address(in, in.X, s)
	case *ssa.IndexAddr:
		x.address(in, in.X, s)
	case *ssa.Extract:
		x.project(in, in.Tuple, tuplePath(in.Index), s)
	case *ssa.Field:
		x.project(in, in.X, "."+fieldName(in.X.Type(), in.Field), s)
	case *ssa.Index:
		x.project(in, in.X, "[]", s)
	case *ssa.Lookup:
		x.project(in, in.X, "[]", s)
	case *ssa.Slice:
		x.slice(in, s)
	case *ssa.ChangeType:
		x.same(in, in.X, s)
	case *ssa.ChangeInterface:
		x.same(in, in.X, s)
	case *ssa.MakeInterface:
		x.same(in, in.X, s)
	case *ssa.TypeAssert:
		x.assert(in, s)
	case *ssa.Convert:
		x.convert(in, s)
	}
	return true
}

// isIndex reports whether v is the number of the case that a select took, of
// which something is known as soon as the select is done.
func isIndex(v ssa.Value) bool {
	e, ok := v.(*ssa.Extract)
	if !ok || e.Index != 0 {
		return false
	}
	_, ok = e.Tuple.(*ssa.Select)
	return ok
}

// opened reports whether in reaches into a reference's own fields, as the package
// of its type does: what it does then is not to be seen here.
func (x *explorer) opened(in ssa.Instruction, s *state) bool {
	var from ssa.Value
	switch in := in.(type) {
	case *ssa.Field:
		from = in.X
	case *ssa.FieldAddr:
		from = in.X
	default:
		return false
	}
	if x.borrowed() || x.Models.Type(elem(from.Type())) != models.Owned || exported(from.Type(), in) {
		return false
	}
	_, ok := x.related(from, s)
	return ok
}

func elem(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// exported reports whether the field that in selects is for everybody.
func exported(t types.Type, in ssa.Instruction) bool {
	i := 0
	switch in := in.(type) {
	case *ssa.Field:
		i = in.Field
	case *ssa.FieldAddr:
		i = in.Field
	}
	s, ok := elem(t).Underlying().(*types.Struct)
	return ok && i < s.NumFields() && s.Field(i).Exported()
}

// again is at the source once more: what it gave before is another resource
// than what it gives now.
func (x *explorer) again(s *state) bool {
	c, isCall := x.src.Start.(*ssa.Call)
	if isCall && !x.call(c, s) {
		return false
	}
	if x.src.Kind == Own && s.status == Live {
		x.leak(x.src.Start, s, "when the loop comes round")
		return false
	}
	s.forget(x.src.Value)
	return len(s.holders) > 0
}

// related returns what v has to do with the resource: it is in v, v leads to it,
// or v is an address within it.
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
			} else if _, in := p.beneath(h.Place); in && x.part(v.Type()) {
				consider(r)
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

// survives reports whether a part of type t still is the resource, or a view.
func (x *explorer) survives(t types.Type, r rel) bool {
	if r == isIt && x.src.Kind != Borrow && x.src.Kind != View && x.src.Kind != Lent {
		return x.owned(t)
	}
	return x.carrier(t)
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
		}
	}
}

// slice cuts a slice: a part of a view is a view.
func (x *explorer) slice(in *ssa.Slice, s *state) {
	if _, ok := in.X.Type().Underlying().(*types.Pointer); !ok {
		x.same(in, in.X, s)
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

func (x *explorer) convert(in *ssa.Convert, s *state) {
	r, ok := x.related(in.X, s)
	if !ok {
		return
	}
	if b, isBasic := in.Type().Underlying().(*types.Basic); isBasic && b.Kind() == types.UnsafePointer {
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
		case h.Path == "" && r <= stale && derefs(in.X, h.Root):
			// A load through the resource itself.
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

// touch is a use of v.
func (x *explorer) touch(in ssa.Instruction, v ssa.Value, s *state) {
	r, ok := x.related(v, s)
	if !ok {
		return
	}
	if r == stale {
		x.report(Finding{Category: UseAfterEnd, Pos: position(in), End: position(s.moved), EndText: text(s.moved), Use: in, Ender: s.moved, Value: v})
		return
	}
	f := Finding{Pos: position(in), End: position(s.at), EndText: text(s.at), Use: in, Ender: s.at, Value: v}
	if !f.Pos.IsValid() {
		f.Pos = v.Pos()
	}
	switch s.status {
	case Ended:
		f.Category = UseAfterEnd
	case Released:
		f.Category = UseAfterRelease
	case Given:
		f.Category = UseAfterGive
	default:
		return
	}
	x.report(f)
}

// store assigns to memory.
func (x *explorer) store(in *ssa.Store, s *state) bool {
	p := x.point(in.Addr)
	if x.src.Kind == Borrow && p.Root == x.src.Owner.Root {
		if rest, ok := cutPath(x.src.Owner.Path, p.Path); ok && len(rest) > 0 && rest[0] == '*' {
			return false // the lender is another one now
		}
	}
	if !weak(p.Path) {
		for h := range s.holders {
			if h.cell {
				if _, ok := h.beneath(p); ok {
					delete(s.holders, h)
					delete(s.stored, h)
				}
			}
		}
	}
	x.takenOut(p, s)
	// Writing through the resource.
	for h, r := range s.holders {
		if !h.cell && h.Path == "" && r <= stale && derefs(in.Addr, h.Root) {
			x.touch(in, h.Root, s)
		}
	}
	adds := map[holder]rel{}
	for h, r := range s.holders {
		if !h.cell && h.Root == in.Val {
			adds[holder{p.then(h.Path), true}] = r
		}
	}
	for h, r := range x.pointedTo(in.Val, s) {
		adds[holder{p.then(h), true}] = r
	}
	if len(adds) == 0 {
		return true
	}
	if x.home(p.Root) {
		for h, r := range adds {
			s.holders[h] = r
			if r == isIt && !x.borrowed() && x.shared(p.Root) {
				x.escaped = true
				return false
			}
		}
		return true
	}
	return x.storeAway(in, p, adds, s)
}

func weak(path string) bool {
	for i := 0; i+1 < len(path); i++ {
		if path[i] == '[' {
			return true
		}
	}
	return false
}

// pointedTo returns what lies in local memory that v points to.
func (x *explorer) pointedTo(v ssa.Value, s *state) map[string]rel {
	alloc, ok := v.(*ssa.Alloc)
	if !ok {
		return nil
	}
	var found map[string]rel
	for h, r := range s.holders {
		if h.cell && h.Root == alloc && r <= viewOf {
			if found == nil {
				found = map[string]rel{}
			}
			found["*"+h.Path] = r
		}
	}
	return found
}

// home reports whether memory under root is the function's own.
func (x *explorer) home(root ssa.Value) bool {
	switch root.(type) {
	case *ssa.Alloc, *ssa.MakeSlice, *ssa.MakeMap, *ssa.Phi, *ssa.Slice:
		return true
	}
	return false
}

// takenOut is for s.buf = nil before s goes back into its pool: what was in the
// field before is no part of s any more.
func (x *explorer) takenOut(p Place, s *state) {
	if !x.pooled() {
		return
	}
	for h, r := range s.holders {
		if r != viewOf || h.cell {
			continue
		}
		if _, ok := x.point(h.Root).beneath(p); ok {
			delete(s.holders, h)
		}
	}
}

// shared reports whether a closure may do to a variable what cannot be seen here:
// it captured one that holds the reference among other things.
func (x *explorer) shared(root ssa.Value) bool {
	alloc, ok := root.(*ssa.Alloc)
	if !ok || x.owned(alloc.Type()) {
		return false
	}
	for _, r := range *alloc.Referrers() {
		if _, ok := r.(*ssa.MakeClosure); ok {
			return true
		}
	}
	return false
}

// storeAway assigns to memory that is there after the function.
func (x *explorer) storeAway(in ssa.Instruction, p Place, adds map[holder]rel, s *state) bool {
	strongest := rel(0)
	for _, r := range adds {
		if r == inside && x.src.Kind == Borrow {
			x.outlives(in, s)
			return false
		}
		if r <= viewOf && (strongest == 0 || r < strongest) {
			strongest = r
		}
	}
	if strongest == 0 {
		return x.borrowed() || x.src.Kind == Pool || x.src.Kind == Found
	}
	x.touchHolders(in, s)
	_, global := p.Root.(*ssa.Global)
	switch x.src.Kind {
	case Borrow, View, Lent:
		_, captured := p.Root.(*ssa.FreeVar)
		if captured && x.src.Kind == Borrow && !x.outlived(p) {
			return true
		}
		for h, r := range adds {
			s.holders[h] = r
			s.stored[h] = in
		}
		if global && weak(p.Path) {
			x.outlives(in, s)
			return false
		}
		return true
	case Pool, Found:
		if strongest == isIt && x.src.Kind == Found {
			return false
		}
		for h, r := range adds {
			s.holders[h] = r
		}
		return true
	}
	if strongest == isIt {
		return x.storeOwned(in, p, adds, s)
	}
	return true
}

// borrowed reports whether the resource is not the function's own.
func (x *explorer) borrowed() bool {
	return x.src.Kind == Borrow || x.src.Kind == View || x.src.Kind == Lent
}

// outlived reports whether a captured variable lives longer than what the
// closure borrowed, which it does unless the lender is captured too.
func (x *explorer) outlived(p Place) bool {
	_, same := x.src.Owner.Root.(*ssa.FreeVar)
	return !same
}

// storeOwned moves the reference to where others reach it.
func (x *explorer) storeOwned(in ssa.Instruction, p Place, adds map[holder]rel, s *state) bool {
	if s.status == Stored && s.at != in {
		x.copied(in, s)
		return false
	}
	if s.status == Live {
		s.status, s.at = Stored, in
	}
	for h, r := range adds {
		s.holders[h] = r
		s.stored[h] = in
	}
	return true
}

func (x *explorer) touchHolders(in ssa.Instruction, s *state) {
	if st, ok := in.(*ssa.Store); ok {
		x.touch(in, st.Val, s)
	}
}
