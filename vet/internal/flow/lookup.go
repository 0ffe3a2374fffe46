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
	if f.changes(f.fn, place) {
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

// handedOn reports that in hands on a reference that a map has too.
func (x *explorer) handedOn(in ssa.Instruction) {
	x.report(Finding{Category: Copied, Pos: position(in), End: x.src.Pos, EndText: x.src.Text, Use: in, Ender: x.src.Start, Value: x.src.Value})
}
