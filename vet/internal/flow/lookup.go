package flow

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/sluice-go/sluice/vet/internal/effect"
)

// A reference that is looked up in a map is still the map's. To hand it on takes a Retain,
// unless the function takes it out of the map.

// looked follows a reference out of a map that is there after the function and that this
// does not change.
func (f *finder) looked(in *ssa.Lookup) {
	m, ok := in.X.Type().Underlying().(*types.Map)
	if !ok || !f.owned(m.Elem()) {
		return
	}
	place := f.point(in.X)
	switch place.Root.(type) {
	case *ssa.Parameter:
		if place.Path == "" {
			return // the caller may clear it
		}
	case *ssa.Global:
	default:
		return
	}
	if f.changes(f.fn, place) || f.callerChanges(mapField(in.X)) {
		return
	}
	src := Source{Kind: Found, Start: in, Value: in, Result: -1, Type: m.Elem(), Text: "the map", Pos: in.Pos(), Operand: effect.None, inMap: true}
	if in.CommaOk {
		src.Result = 0
	}
	f.add(src)
}

// changes reports whether fn, or a literal within it, may change the map at place, or works
// it off.
func (f *finder) changes(fn *ssa.Function, place Place) bool {
	if len(fn.AnonFuncs) > 0 {
		return true // under names of their own
	}
	may := func(v ssa.Value) bool {
		_, leads := place.beneath(f.point(v))
		return leads
	}
	for _, b := range fn.Blocks {
		for _, in := range b.Instrs {
			switch in := in.(type) {
			case *ssa.MapUpdate:
				if may(in.Map) {
					return true
				}
			case *ssa.Range:
				if may(in.X) {
					return true
				}
			case *ssa.Store:
				if _, leads := place.beneath(f.point(in.Addr)); leads {
					return true
				}
			case ssa.CallInstruction:
				for _, v := range operands(in.Common()) {
					if may(v) {
						return true
					}
				}
			}
		}
	}
	return false
}

// callerChanges reports whether a function that calls this one changes maps of that field: it
// takes out, as a rule, what this one has handed on.
func (f *finder) callerChanges(field *types.Var) (changes bool) {
	if field == nil || f.fn.Pkg == nil {
		return false
	}
	eachFunction(f.fn.Pkg, func(fn *ssa.Function) {
		calls, alters := false, false
		for _, b := range fn.Blocks {
			for _, in := range b.Instrs {
				switch in := in.(type) {
				case *ssa.Store:
					alters = alters || fieldOf(in.Addr) == field
				case ssa.CallInstruction:
					c := in.Common()
					calls = calls || c.StaticCallee() == f.fn
					if b, ok := c.Value.(*ssa.Builtin); ok && (b.Name() == "delete" || b.Name() == "clear") {
						alters = alters || mapField(c.Args[0]) == field
					}
				}
			}
		}
		changes = changes || calls && alters
	})
	return changes
}

// mapField returns the field that v is read from, nil when it is another value.
func mapField(v ssa.Value) *types.Var {
	if load, ok := v.(*ssa.UnOp); ok {
		return fieldOf(load.X)
	}
	return nil
}

// fieldOf returns the field that v points to, nil when it points to something else.
func fieldOf(v ssa.Value) *types.Var {
	addr, ok := v.(*ssa.FieldAddr)
	if !ok {
		return nil
	}
	if p, ok := addr.X.Type().Underlying().(*types.Pointer); ok {
		if of, ok := p.Elem().Underlying().(*types.Struct); ok {
			return of.Field(addr.Field).Origin()
		}
	}
	return nil
}

// handedOn reports that in hands on a reference that a map has too.
func (x *explorer) handedOn(in ssa.Instruction) {
	x.report(Finding{Category: Copied, Pos: position(in), End: x.src.Pos, EndText: x.src.Text, Use: in, Ender: x.src.Start, Value: x.src.Value})
}
