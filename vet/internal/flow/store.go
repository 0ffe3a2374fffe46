package flow

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/sluice-go/sluice/vet/internal/effect"
)

// store assigns to memory.
func (x *explorer) store(in *ssa.Store, s *state) bool {
	p := x.point(in.Addr)
	if cut, ok := in.Val.(*ssa.Slice); ok && x.point(cut) == p.then("*") {
		return true // list = list[:n]: the same memory under the same name
	}
	if x.src.Kind == Borrow && p.Root == x.src.Owner.Root {
		if rest, ok := cutPath(x.src.Owner.Path, p.Path); ok && len(rest) > 0 && rest[0] == '*' {
			return false // the lender is another one now
		}
	}
	if !weak(p.Path) || isNil(in.Val) { // no list keeps what one of its elements is cleared of
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
	if x.home(p.Root) || x.passes(p.Root, s) {
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

// passes reports whether what is stored under root need not outlive what is borrowed:
// root is borrowed itself, as a list of pieces, or was taken from a pool.
func (x *explorer) passes(root ssa.Value, s *state) bool {
	if !x.borrowed() {
		return false
	}
	if call, ok := root.(*ssa.Call); ok {
		effects, _ := x.Effects(&call.Call)
		if slices.ContainsFunc(effects, func(e effect.Effect) bool { return e.Kind == effect.Pooled }) {
			return true
		}
	}
	r := s.holders[holder{Place{root, ""}, false}]
	return r == isIt || r == viewOf
}

// takenOut handles s.buf = nil before s goes back into its pool: the earlier value of
// the field is not part of s any more.
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

// shared reports whether a closure may change a variable unseen: it captured one that
// holds the reference among other things.
func (x *explorer) shared(root ssa.Value) bool {
	alloc, ok := root.(*ssa.Alloc)
	if !ok || x.owned(alloc.Type()) || x.onlyStore(alloc) != nil {
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
			x.outlives(in)
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
		if captured && x.src.Kind == Borrow && !x.outlived() {
			return true
		}
		for h, r := range adds {
			s.holders[h] = r
			s.stored[h] = in
		}
		if global && weak(p.Path) {
			x.outlives(in)
			return false
		}
		return true
	case Pool, Found:
		if strongest == isIt && x.src.Kind == Found {
			// A pointer may be one more way to what the map owns.
			if x.src.inMap && s.status == Live && !isPointer(x.src.Type) {
				x.handedOn(in)
			}
			return false
		}
		for h, r := range adds {
			s.holders[h] = r
			if x.src.Kind == Pool {
				x.noteView(in, p, h, s)
			}
		}
		return true
	}
	if strongest == isIt {
		return x.storeOwned(in, adds, s)
	}
	for h, r := range adds {
		s.holders[h] = r
		x.noteView(in, p, h, s)
	}
	return true
}

// noteView notes where bytes of a reference are stored: they must not be there any more
// when it is released. Only what the caller surely sees counts.
func (x *explorer) noteView(in ssa.Instruction, p Place, h holder, s *state) {
	if s.holders[h] != viewOf {
		return
	}
	v := storedValue(in)
	switch p.Root.(type) {
	case *ssa.Parameter, *ssa.Global:
		if v != nil && showsBytes(v, s) {
			s.stored[h] = in
		}
	}
}

// showsBytes reports whether v is bytes of the resource, or a struct, or a pointer to one
// of the function's own, with such bytes in a field.
func showsBytes(v ssa.Value, s *state) bool {
	if isBytes(v.Type()) {
		return true
	}
	for h, r := range s.holders {
		if r != viewOf || h.Root != v || h.Path == "" {
			continue
		}
		path := h.Path
		if h.cell {
			path = "*" + path
		}
		if t := typeAt(v.Type(), path); t != nil && isBytes(t) {
			return true
		}
	}
	return false
}

func storedValue(in ssa.Instruction) ssa.Value {
	switch in := in.(type) {
	case *ssa.Store:
		return in.Val
	case *ssa.MapUpdate:
		return in.Value
	}
	return nil
}

// outlived reports whether a captured variable lives longer than what the
// closure borrowed, which it does unless the lender is captured too.
func (x *explorer) outlived() bool {
	_, same := x.src.Owner.Root.(*ssa.FreeVar)
	return !same
}

// storeOwned moves the reference to where other code reaches it.
func (x *explorer) storeOwned(in ssa.Instruction, adds map[holder]rel, s *state) bool {
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

// mapUpdate puts something into a map.
func (x *explorer) mapUpdate(in *ssa.MapUpdate, s *state) bool {
	adds := map[holder]rel{}
	p := x.point(in.Map).then("[]")
	views := true
	for h, r := range s.holders {
		if !h.cell && h.Root == in.Value {
			adds[holder{p.then(h.Path), true}] = r
			views = views && r == viewOf
		}
	}
	if len(adds) == 0 {
		return true
	}
	x.touch(in, in.Value, s)
	if x.home(p.Root) {
		for h, r := range adds {
			s.holders[h] = r
		}
		// A map in hand: what it holds is looked at when it is used.
		return true
	}
	switch {
	case x.src.Kind == View:
		x.kept = position(in)
		return false
	case x.borrowed():
		x.outlives(in)
		return false
	case views:
		for h, r := range adds {
			s.holders[h] = r
			x.noteView(in, p, h, s)
		}
	case x.src.Kind == Own || x.src.Kind == Param:
		return x.storeOwned(in, adds, s)
	case x.src.inMap && s.status == Live && !isPointer(x.src.Type):
		x.handedOn(in)
		return false
	}
	return true
}
