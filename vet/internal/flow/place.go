package flow

import (
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/sluice-go/sluice/vet/internal/effect"
)

// A Place is memory under the name that code reaches it by: a value of the
// function and the way from there, as in c.conn*.r*. Two places with one name
// are one memory as long as nothing on the way is assigned; two names may still
// be one memory, which nothing here relies on.
type Place struct {
	Root ssa.Value
	Path string
}

func (p Place) then(path string) Place { return Place{p.Root, p.Path + path} }

// beneath reports whether p is q or a part of it, and the way from q to p.
func (p Place) beneath(q Place) (rest string, ok bool) {
	if p.Root != q.Root {
		return "", false
	}
	return cutPath(p.Path, q.Path)
}

// cutPath removes prefix from path if it ends between two steps.
func cutPath(path, prefix string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, prefix)
	if !ok || rest != "" && !strings.ContainsAny(rest[:1], ".*[#") {
		return "", false
	}
	return rest, true
}

const maxWay = 12 // steps that a place is followed for

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
		return a.pointN(v.X, n-1).then("[]")
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

func fieldName(t types.Type, i int) string {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	if s, ok := t.Underlying().(*types.Struct); ok && i < s.NumFields() {
		return s.Field(i).Name()
	}
	return "?"
}

// operand returns the value that an effect's number stands for, nil when the
// call has none.
func operand(c *ssa.CallCommon, n int) ssa.Value {
	if n >= effect.FreeVars {
		if mc, ok := c.Value.(*ssa.MakeClosure); ok && n-effect.FreeVars < len(mc.Bindings) {
			return mc.Bindings[n-effect.FreeVars]
		}
		return nil
	}
	if c.IsInvoke() {
		if n == effect.Recv {
			return c.Value
		}
	} else if c.Signature().Recv() != nil {
		n++
	} else if fn := c.StaticCallee(); fn != nil && isMethod(fn.Object()) {
		// What SSA makes of a method value, which has captured the receiver, or of a
		// method expression, whose first argument it is.
		mc, value := c.Value.(*ssa.MakeClosure)
		switch {
		case !value:
			n++
		case n == effect.Recv && len(mc.Bindings) == 1:
			return mc.Bindings[0]
		}
	}
	if n < 0 || n >= len(c.Args) {
		return nil
	}
	return c.Args[n]
}

func isMethod(obj types.Object) bool {
	fn, ok := obj.(*types.Func)
	return ok && fn.Signature().Recv() != nil
}
