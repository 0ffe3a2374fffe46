package flow

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/sluice-go/sluice/vet/internal/effect"
)

// callback returns what the fields that fn is assigned to say of its parameters.
func (a *Analysis) callback(fn *ssa.Function) []effect.Effect {
	if a.callbacks == nil {
		a.callbacks, a.literals = map[types.Object][]effect.Effect{}, map[*ssa.Function][]effect.Effect{}
		if fn.Pkg != nil {
			a.findCallbacks(fn.Pkg)
		}
	}
	if list, ok := a.literals[fn]; ok {
		return list
	}
	if fn.Object() == nil {
		return nil
	}
	return a.callbacks[fn.Object()]
}

// findCallbacks looks through all assignments to fields in the package.
func (a *Analysis) findCallbacks(pkg *ssa.Package) {
	eachFunction(pkg, func(fn *ssa.Function) {
		for _, b := range fn.Blocks {
			for _, in := range b.Instrs {
				if st, ok := in.(*ssa.Store); ok {
					a.assigned(st)
				}
			}
		}
	})
}

// eachFunction calls look for all functions of the package, its methods, and the literals within them.
func eachFunction(pkg *ssa.Package, look func(*ssa.Function)) {
	var within func(fn *ssa.Function)
	within = func(fn *ssa.Function) {
		look(fn)
		for _, anon := range fn.AnonFuncs {
			within(anon)
		}
	}
	for _, m := range pkg.Members {
		switch m := m.(type) {
		case *ssa.Function:
			within(m)
		case *ssa.Type:
			named, ok := m.Type().(*types.Named)
			if !ok {
				continue
			}
			for method := range named.Methods() {
				if fn := pkg.Prog.FuncValue(method); fn != nil {
					within(fn)
				}
			}
		}
	}
}

func (a *Analysis) assigned(st *ssa.Store) {
	field, ok := st.Addr.(*ssa.FieldAddr)
	if !ok {
		return
	}
	if _, ok := st.Val.Type().Underlying().(*types.Signature); !ok {
		return
	}
	list := a.Models.Field(field.X.Type(), fieldName(field.X.Type(), field.Field))
	fn := literal(st.Val)
	if len(list) == 0 || fn == nil {
		return
	}
	a.literals[fn] = list
	if fn.Object() != nil {
		a.callbacks[fn.Object()] = list // a function, or a method bound to its receiver
	}
}
