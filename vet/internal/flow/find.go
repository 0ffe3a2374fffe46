package flow

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/sluice-go/sluice/vet/internal/effect"
	"github.com/sluice-go/sluice/vet/internal/models"
)

// sources lists the resources to follow in fn.
func (a *Analysis) sources(fn *ssa.Function) []*Source {
	f := &finder{Analysis: a, fn: fn, covered: map[ssa.Value]bool{}, places: map[Place]bool{}}
	f.params()
	for _, b := range fn.Blocks {
		for _, in := range b.Instrs {
			switch in := in.(type) {
			case *ssa.Call:
				f.call(in)
			case *ssa.UnOp:
				if in.Op == token.ARROW {
					f.receive(in)
				}
			case *ssa.Select:
				f.selected(in)
			case *ssa.Lookup:
				f.looked(in)
			}
		}
	}
	for _, b := range fn.Blocks {
		for _, in := range b.Instrs {
			switch in := in.(type) {
			case ssa.CallInstruction:
				f.consumed(in)
			case *ssa.Send:
				f.sent(in.Chan, in.X)
			case *ssa.Select:
				for _, st := range in.States {
					f.sent(st.Chan, st.Send)
				}
			}
		}
	}
	return f.list
}

func (f *finder) params() {
	lent := f.lentTo()
	given := f.callback(f.fn)
	recv := 0
	if f.fn.Signature.Recv() != nil {
		recv = 1
	}
	for i, p := range f.fn.Params {
		if isTypeParam(p.Type()) && i >= recv {
			f.generic(p, i-recv)
			continue
		}
		src := Source{Value: p, Result: -1, Type: p.Type(), Text: p.Name(), Pos: p.Pos(), Operand: i - recv}
		elem := p.Type()
		ptr, isPtr := elem.Underlying().(*types.Pointer)
		if isPtr {
			elem = ptr.Elem()
		}
		switch {
		case f.Models.Type(elem) == models.Call && i >= recv:
			src.Kind = Lent
		case f.owned(p.Type()):
			src.Kind = Param
			f.pointer(&src)
			src.Promised = !src.cell && (f.promises(i-recv, p.Name()) || has(given, i-recv, effect.Transferred))
		case (lent || has(given, i-recv, effect.Passed)) && f.carrier(p.Type()):
			src.Kind = Lent
		case isBytes(p.Type()):
			src.Kind = View
		default:
			continue
		}
		f.add(src)
	}
	for i, v := range f.fn.FreeVars {
		src := Source{Kind: Param, Value: v, Result: -1, Type: v.Type(), Text: v.Name(), Pos: v.Pos(), Operand: effect.FreeVars + i}
		// A captured variable is there by its address, the receiver of a method
		// value as it is: a slice, a Buf.
		if elem, ok := v.Type().Underlying().(*types.Pointer); ok {
			src.Type, src.cell, src.place = elem.Elem(), true, Place{v, ""}
		}
		switch {
		case f.owned(src.Type):
			f.add(src)
		case isTypeParam(src.Type):
			src.generic = true
			f.list = append(f.list, &src)
		}
	}
}

func has(list []effect.Effect, operand int, k effect.Kind) bool {
	for _, e := range list {
		if e.Operand == operand && e.Kind == k {
			return true
		}
	}
	return false
}

// promises reports whether the function takes a parameter: the table says so, or
// its comment does, as in "b, transferred" or "m, whose payload is transferred".
func (f *finder) promises(operand int, name string) bool {
	if obj, ok := f.fn.Object().(*types.Func); ok && operand >= 0 {
		list, _ := f.Models.Func(obj)
		if has(list, operand, effect.Transferred) {
			return true
		}
	}
	decl, ok := f.fn.Syntax().(*ast.FuncDecl)
	if !ok || decl.Doc == nil || name == "" {
		return false
	}
	doc := strings.Join(strings.Fields(decl.Doc.Text()), " ")
	for _, words := range []string{", transferred", ", which is transferred", ", whose payload is transferred"} {
		for rest, found := doc, true; found; {
			var before string
			if before, rest, found = strings.Cut(rest, " "+name+words); found && !strings.HasSuffix(before, ".") {
				return true
			}
		}
	}
	return false
}

// pointer makes a source of the memory that a pointer leads to, unless the
// pointer itself is what is owned, as that of a Memory is.
func (f *finder) pointer(src *Source) {
	if p, ok := src.Type.Underlying().(*types.Pointer); ok && f.Models.Type(p.Elem()) != models.Single {
		src.cell, src.place = true, Place{src.Value, ""}
	}
}

// lentTo reports whether the function is a literal that is passed to a call
// which lends to it.
func (f *finder) lentTo() bool {
	parent := f.fn.Parent()
	if parent == nil {
		return false
	}
	for _, b := range parent.Blocks {
		for _, in := range b.Instrs {
			c, ok := in.(ssa.CallInstruction)
			if !ok {
				continue
			}
			list, _ := f.Effects(c.Common())
			for _, e := range list {
				if e.Kind == effect.Lends && literal(operand(c.Common(), e.Operand)) == f.fn {
					return true
				}
			}
		}
	}
	return false
}

// call finds the sources in a call's results.
func (f *finder) call(in *ssa.Call) {
	effects, known := f.Effects(&in.Call)
	results := in.Call.Signature().Results()
	sourced := map[int]bool{}
	for _, e := range effects {
		if e.Result < 0 || e.Result >= results.Len() {
			continue
		}
		src := Source{Start: in, Value: in, Result: e.Result, Type: results.At(e.Result).Type(), Text: text(in), Pos: in.Pos(), Operand: effect.None}
		if results.Len() == 1 {
			src.Result = -1
		}
		switch e.Kind {
		case effect.Borrowed:
			src.Kind, src.Owner = Borrow, f.owner(&in.Call, e)
			if src.Owner.Root == nil {
				continue
			}
		case effect.Retained:
			src.Kind = Own
		case effect.Pooled:
			src.Kind = Pool
		default:
			sourced[e.Result] = true
			continue
		}
		sourced[e.Result] = true
		f.add(src)
	}
	if known {
		return
	}
	for i := range results.Len() {
		if f.owned(results.At(i).Type()) && !sourced[i] {
			src := Source{Kind: Found, Start: in, Value: in, Result: i, Type: results.At(i).Type(), Text: text(in), Pos: in.Pos(), Operand: effect.None}
			if results.Len() == 1 {
				src.Result = -1
				f.pointer(&src)
			}
			f.add(src)
		}
	}
}

// owner is the place of the lender.
func (f *finder) owner(c *ssa.CallCommon, e effect.Effect) Place {
	v := operand(c, e.Operand)
	if v == nil {
		if e.Operand == effect.Recv && c.StaticCallee() != nil {
			return packageOwner(c.StaticCallee())
		}
		return Place{}
	}
	return f.at(v, e.Path)
}

// packageOwner represents the state that the functions of a package share.
func packageOwner(fn *ssa.Function) Place {
	if fn.Package() == nil { // made by SSA: shared by packages
		return Place{}
	}
	for _, m := range fn.Package().Members {
		if init, ok := m.(*ssa.Function); ok && init.Name() == "init" {
			return Place{init, "package"}
		}
	}
	return Place{}
}

// receive follows a value received from a channel: receiving transfers it.
func (f *finder) receive(in *ssa.UnOp) {
	t := in.X.Type().Underlying().(*types.Chan).Elem()
	if !f.owned(t) {
		return
	}
	src := Source{Kind: Own, Start: in, Value: in, Result: -1, Type: t, Text: "the receive", Pos: in.Pos(), Operand: effect.None}
	if in.CommaOk {
		src.Result = 0
	}
	f.add(src)
}

func (f *finder) selected(in *ssa.Select) {
	n := 2
	for i, st := range in.States {
		if st.Dir != types.RecvOnly {
			continue
		}
		if t := st.Chan.Type().Underlying().(*types.Chan).Elem(); f.owned(t) {
			f.add(Source{Kind: Own, Start: in, Value: in, Result: n, selects: true, state: i, Type: t, Text: "the receive", Pos: st.Pos, Operand: effect.None})
		}
		n++
	}
}

// sent follows what is sent, nil for a receive, where that transfers it.
func (f *finder) sent(ch, v ssa.Value) {
	if v != nil && f.transferring(ch) {
		f.origin(v, 8)
	}
}
