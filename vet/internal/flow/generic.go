package flow

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/sluice-go/sluice/vet/internal/effect"
)

// A generic function is looked at once. A parameter of a type that its caller chooses is
// followed as a reference and as bytes, without any findings, and a call takes over what
// is true of the type that was chosen.

func isTypeParam(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.TypeParam)
	return ok
}

// generic adds the sources of a parameter whose type the caller chooses.
func (f *finder) generic(p *ssa.Parameter, operand int) {
	for _, k := range [...]SourceKind{Param, View} {
		// They do not stand for the parameter where it goes into a pool: see origin.
		f.list = append(f.list, &Source{
			Kind: k, Value: p, Result: -1, Type: p.Type(), Text: p.Name(), Pos: p.Pos(), Operand: operand, generic: true,
		})
	}
}

// owned is Analysis.owned, and true of the type that is followed as a reference.
func (x *explorer) owned(t types.Type) bool {
	return x.src.generic && x.src.Kind == Param && types.Identical(t, x.src.Type) || x.Analysis.owned(t)
}

// instantiated returns those of a generic function's effects that hold for the types of a
// call, and whether they are all that it does.
func (a *Analysis) instantiated(c *ssa.CallCommon, origin *ssa.Function, list []effect.Effect, known bool) ([]effect.Effect, bool) {
	var kept []effect.Effect
	for _, e := range list {
		if !chosen(origin, e.Operand) || a.holds(e.Kind, operand(c, e.Operand)) {
			kept = append(kept, e)
		}
	}
	if known && len(list) == 0 && len(origin.Blocks) == 0 {
		// Of a package that has no references itself nothing is known of those it is given.
		for i := range origin.Signature.Params().Len() {
			if v := operand(c, i); v != nil && chosen(origin, i) && a.owned(v.Type()) {
				return nil, false
			}
		}
	}
	return kept, known
}

// chosen reports whether the caller of a generic function chooses the operand's type.
func chosen(origin *ssa.Function, operand int) bool {
	params := origin.Signature.Params()
	return operand >= 0 && operand < params.Len() && isTypeParam(params.At(operand).Type())
}

// holds reports whether an effect on a parameter of any type is one on v.
func (a *Analysis) holds(k effect.Kind, v ssa.Value) bool {
	if v == nil || isTypeParam(v.Type()) {
		return v != nil
	}
	switch k {
	case effect.Transferred, effect.Unknown, effect.Is:
		return a.owned(v.Type())
	case effect.Kept, effect.Views:
		return a.carrier(v.Type())
	}
	return true
}
