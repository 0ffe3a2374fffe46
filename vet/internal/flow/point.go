package flow

import (
	"go/token"
	"go/types"
	"strings"

	"github.com/sluice-go/sluice/vet/internal/effect"
	"golang.org/x/tools/go/ssa"
)

// at is the place that path leads to from operand v.
func (a *Analysis) at(v ssa.Value, path string) Place {
	if rest, ok := strings.CutPrefix(path, "*"); ok {
		if stored := a.onlyStore(v); stored != nil {
			return a.at(stored, rest)
		}
	}
	return a.point(v).then(path)
}

// point returns the place that v, a pointer, points to. For a value that is not
// a pointer it is the name of the value itself.
func (a *Analysis) point(v ssa.Value) Place { return a.pointN(v, maxWay) }

func (a *Analysis) pointN(v ssa.Value, n int) Place {
	if n == 0 {
		return Place{v, ""}
	}
	switch v := v.(type) {
	case *ssa.FieldAddr:
		return a.pointN(v.X, n-1).then("." + fieldName(v.X.Type(), v.Field))
	case *ssa.Field:
		return a.pointN(v.X, n-1).then("." + fieldName(v.X.Type(), v.Field))
	case *ssa.IndexAddr:
		return a.pointN(v.X, n-1).then(element(v))
	case *ssa.UnOp:
		if v.Op == token.MUL {
			if stored := a.onlyStore(v.X); stored != nil {
				return a.pointN(stored, n-1)
			}
			return a.pointN(v.X, n-1).then("*")
		}
	case *ssa.Slice:
		return a.pointN(v.X, n-1)
	case *ssa.ChangeType:
		return a.pointN(v.X, n-1)
	case *ssa.Convert:
		if isPointer(v.X.Type()) || isUnsafe(v.X.Type()) {
			return a.pointN(v.X, n-1) // by unsafe.Pointer
		}
	case *ssa.ChangeInterface:
		return a.pointN(v.X, n-1)
	case *ssa.MakeInterface:
		return a.pointN(v.X, n-1)
	case *ssa.TypeAssert:
		if !v.CommaOk {
			return a.pointN(v.X, n-1)
		}
	case *ssa.Extract:
		if t, ok := v.Tuple.(*ssa.TypeAssert); ok && v.Index == 0 {
			return a.pointN(t.X, n-1)
		}
	case *ssa.Phi:
		return a.pointPhi(v, n)
	case *ssa.Call:
		return a.pointCall(v, n)
	}
	return Place{v, ""}
}

func (a *Analysis) pointPhi(v *ssa.Phi, n int) Place {
	var all Place
	for _, e := range v.Edges {
		if e == v {
			continue
		}
		p := a.pointN(e, min(n-1, 3))
		if all.Root != nil && p != all {
			return Place{v, ""}
		}
		all = p
	}
	if all.Root == nil {
		return Place{v, ""}
	}
	return all
}

// pointCall follows getters: conn.Reader() is the same reader each time.
func (a *Analysis) pointCall(v *ssa.Call, n int) Place {
	effects, _ := a.Effects(&v.Call)
	for _, e := range effects {
		if e.Kind == effect.Is && e.Result == 0 {
			if x := operand(&v.Call, e.Operand); x != nil {
				return a.pointN(x, n-1).then(e.Path + ".()")
			}
		}
	}
	return Place{v, ""}
}

// onlyStore returns what a local variable holds that is assigned once and whose
// address goes to closures at most.
func (a *Analysis) onlyStore(addr ssa.Value) ssa.Value {
	alloc, ok := addr.(*ssa.Alloc)
	if !ok || alloc.Referrers() == nil {
		return nil
	}
	if _, ok := alloc.Type().Underlying().(*types.Pointer).Elem().Underlying().(*types.Struct); ok {
		return nil
	}
	var stored ssa.Value
	for _, r := range *alloc.Referrers() {
		switch r := r.(type) {
		case *ssa.Store:
			if r.Addr != alloc || stored != nil {
				return nil
			}
			stored = r.Val
		case *ssa.UnOp, *ssa.DebugRef:
		case *ssa.MakeClosure:
			if a.closureStores(r, alloc) {
				return nil
			}
		default:
			return nil
		}
	}
	return stored
}

// closureStores reports whether the closure, or one within it, assigns to the
// captured variable.
func (a *Analysis) closureStores(mc *ssa.MakeClosure, captured ssa.Value) bool {
	fn := mc.Fn.(*ssa.Function)
	for i, b := range mc.Bindings {
		if b != captured || i >= len(fn.FreeVars) {
			continue
		}
		fv := fn.FreeVars[i]
		if fv.Referrers() == nil {
			continue
		}
		for _, r := range *fv.Referrers() {
			switch r := r.(type) {
			case *ssa.Store:
				if r.Addr == fv {
					return true
				}
			case *ssa.MakeClosure:
				if a.closureStores(r, fv) {
					return true
				}
			}
		}
	}
	return false
}
