package flow

import (
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
		return x.sends(in, in.Chan, in.X, s)
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

// opened reports whether in accesses a reference's own fields, as the package of its
// type does: the analysis cannot see the effect of that.
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

// again reaches the source once more: the resource of the earlier pass is another one
// than the new one.
func (x *explorer) again(s *state) bool {
	c, isCall := x.src.Start.(*ssa.Call)
	if isCall && !x.call(c, s) {
		return false
	}
	if x.src.Kind == Own && s.status == Live && !carried(s) {
		x.leak(x.src.Start, s, "when the loop comes round")
		return false
	}
	s.forget(x.src.Value)
	return len(s.holders) > 0
}

// carried reports whether another variable has the reference of the pass before, as in
// bigger := get(); copy(bigger, b); b.Release(); b = bigger.
func carried(s *state) bool {
	for h, r := range s.holders {
		if r != isIt || h.Path != "" {
			continue
		}
		switch h.Root.(type) {
		case *ssa.Phi:
			return true
		case *ssa.Alloc:
			if h.cell {
				return true
			}
		}
	}
	return false
}
