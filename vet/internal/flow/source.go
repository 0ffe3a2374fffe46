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

// SourceKind says by what right a function has the resource.
type SourceKind uint8

const (
	// Borrow: lent by a call, until another one ends it.
	Borrow SourceKind = iota
	// Own: retained, to be released.
	Own
	// Pool: got from a pool, which may have it back.
	Pool
	// Param: a parameter that stands for a reference.
	Param
	// View: a parameter of bytes, borrowed until the function returns.
	View
	// Lent: a parameter of a handler or a callback, borrowed by its contract.
	Lent
	// Found: it comes from a place that says nothing of ownership.
	Found
)

// A Source is where the function gets a resource.
type Source struct {
	Kind   SourceKind
	Start  ssa.Instruction // nil: on entry
	Value  ssa.Value
	Result int   // of a call with several, else -1
	Owner  Place // Borrow: who lent it
	Type   types.Type
	Text   string
	Pos    token.Pos
	// Operand is the parameter's number, as effects count.
	Operand int
	// Promised: the function's comment or the table says that it takes the parameter.
	Promised bool

	cell  bool // Value is the address of what is followed
	place Place

	selects bool // Value is a select, which receives in its case number state
	state   int
}

// begin enters the source into a state.
func (src *Source) begin(s *state) {
	if src.selects {
		if index := indexOf(src.Value.(*ssa.Select)); index != nil {
			s.conds[selectCond(index, src.state)] = true
		}
	}
	switch {
	case src.cell:
		s.holders[holder{src.place, true}] = isIt
	case src.Result >= 0:
		s.holders[holder{Place{src.Value, tuplePath(src.Result)}, false}] = isIt
		results := src.Value.Type().(*types.Tuple)
		last := results.Len() - 1
		if last == src.Result || src.selects {
			break
		}
		switch t := results.At(last).Type(); {
		case isError(t):
			s.holders[holder{Place{src.Value, tuplePath(last)}, false}] = errOf
		case isBool(t):
			s.holders[holder{Place{src.Value, tuplePath(last)}, false}] = okOf
		}
	default:
		s.holders[holder{Place{src.Value, ""}, false}] = isIt
		if src.place.Root != nil {
			s.holders[holder{src.place, true}] = isIt
		}
	}
}

// duty reports whether the function has to release the resource or to hand it on.
func (src *Source) duty() bool { return src.Kind == Own || src.Promised }

func isBool(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

func tuplePath(i int) string { return "#" + string(rune('0'+i)) }

// sources lists what is worth following in fn.
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
			}
		}
	}
	for _, b := range fn.Blocks {
		for _, in := range b.Instrs {
			if c, ok := in.(ssa.CallInstruction); ok {
				f.consumed(c.Common())
			}
		}
	}
	return f.list
}

type finder struct {
	*Analysis
	fn      *ssa.Function
	list    []*Source
	covered map[ssa.Value]bool // values that a source stands for
	places  map[Place]bool
}

func (f *finder) add(src Source) {
	f.covered[src.Value] = true
	f.list = append(f.list, &src)
}

func (f *finder) params() {
	lent := f.lentTo()
	recv := 0
	if f.fn.Signature.Recv() != nil {
		recv = 1
	}
	for i, p := range f.fn.Params {
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
			src.Promised = !src.cell && f.promises(i-recv, p.Name())
		case lent && f.carrier(p.Type()):
			src.Kind = Lent
		case f.isBytes(p.Type()):
			src.Kind = View
		default:
			continue
		}
		f.add(src)
	}
	for i, v := range f.fn.FreeVars {
		elem := v.Type().Underlying().(*types.Pointer)
		if f.owned(elem.Elem()) {
			src := Source{Kind: Param, Value: v, Result: -1, Type: elem.Elem(), Text: v.Name(), Pos: v.Pos(), Operand: effect.FreeVars + i}
			src.cell, src.place = true, Place{v, ""}
			f.add(src)
		}
	}
}

// promises reports whether the function takes a parameter: the table says so, or
// its comment does, as in "b, transferred" or "m, whose payload is transferred".
func (f *finder) promises(operand int, name string) bool {
	if obj, ok := f.fn.Object().(*types.Func); ok && operand >= 0 {
		list, _ := f.Models.Func(obj)
		for _, e := range list {
			if e.Operand == operand && e.Kind == effect.Transferred {
				return true
			}
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

func (f *finder) isBytes(t types.Type) bool {
	s, ok := t.Underlying().(*types.Slice)
	return ok && f.carrier(s)
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

func literal(v ssa.Value) *ssa.Function {
	switch v := v.(type) {
	case *ssa.Function:
		return v
	case *ssa.MakeClosure:
		return v.Fn.(*ssa.Function)
	case *ssa.ChangeType:
		return literal(v.X)
	}
	return nil
}

// call finds what a call's results are.
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

// owner is the place of who lends.
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

// packageOwner stands for what the functions of a package share.
func packageOwner(fn *ssa.Function) Place {
	for _, m := range fn.Package().Members {
		if init, ok := m.(*ssa.Function); ok && init.Name() == "init" {
			return Place{init, "package"}
		}
	}
	return Place{}
}

// at is the place that path leads to from operand v.
func (a *Analysis) at(v ssa.Value, path string) Place {
	if rest, ok := strings.CutPrefix(path, "*"); ok {
		if stored := a.onlyStore(v); stored != nil {
			return a.at(stored, rest)
		}
	}
	return a.point(v).then(path)
}

// receive follows what comes over a channel, which hands it over.
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

// consumed finds what a call ends that no other source stands for: memory from
// a field, or something that goes into a pool.
func (f *finder) consumed(c *ssa.CallCommon) {
	effects, _ := f.Effects(c)
	for _, e := range effects {
		if e.Kind != effect.Released && e.Kind != effect.Transferred || e.Path != "" {
			continue
		}
		if v := operand(c, e.Operand); v != nil {
			f.origin(v, 8)
		}
	}
}

// origin adds the source of a consumed value.
func (f *finder) origin(v ssa.Value, n int) {
	if n == 0 || f.covered[v] {
		return
	}
	src := Source{Kind: Found, Value: v, Result: -1, Type: v.Type(), Text: "it", Pos: v.Pos(), Operand: effect.None}
	switch v := v.(type) {
	case *ssa.MakeInterface:
		f.origin(v.X, n-1)
	case *ssa.ChangeType:
		f.origin(v.X, n-1)
	case *ssa.TypeAssert:
		f.origin(v.X, n-1)
	case *ssa.Slice:
		f.origin(v.X, n-1)
	case *ssa.Phi:
		for _, e := range v.Edges {
			f.origin(e, n-1)
		}
	case *ssa.Parameter:
		src.Text = v.Name()
		src.Operand = paramNumber(v)
		src.Kind = Param
		f.add(src)
	case *ssa.FieldAddr:
		place := f.point(v)
		if strings.Contains(place.Path, "[]") || f.places[place] || f.local(place.Root) {
			return
		}
		f.places[place] = true
		src.Start, src.cell, src.place, src.Text = v, true, place, fieldName(v.X.Type(), v.Field)
		f.add(src)
	case *ssa.UnOp:
		if v.Op != token.MUL {
			return
		}
		place := f.point(v.X)
		if alloc, ok := v.X.(*ssa.Alloc); ok {
			f.stores(alloc, n)
			return
		}
		if strings.Contains(place.Path, "[]") || f.places[place] || f.local(place.Root) {
			return
		}
		f.places[place] = true
		src.Start, src.place = v, place
		f.add(src)
	case *ssa.Call:
		if v.Call.Signature().Results().Len() == 1 {
			src.Start, src.Text = v, text(v)
			f.add(src)
		}
	case *ssa.MakeSlice:
		src.Start, src.Text = v, "make"
		f.add(src)
	case *ssa.Alloc:
		if v.Heap && !f.owned(v.Type()) {
			src.Start, src.Text = v, "new"
			f.add(src)
		}
	}
}

// stores adds the sources of what a local variable was assigned.
func (f *finder) stores(alloc *ssa.Alloc, n int) {
	for _, r := range *alloc.Referrers() {
		if st, ok := r.(*ssa.Store); ok && st.Addr == alloc {
			f.origin(st.Val, n-1)
		}
	}
}

// local reports whether the root is followed by another source anyway.
func (f *finder) local(root ssa.Value) bool {
	switch root := root.(type) {
	case *ssa.Parameter, *ssa.FreeVar:
		return f.covered[root]
	case *ssa.Global:
		return false
	}
	return true
}

func paramNumber(p *ssa.Parameter) int {
	fn := p.Parent()
	for i, q := range fn.Params {
		if p == q {
			if fn.Signature.Recv() != nil {
				i--
			}
			return i
		}
	}
	return effect.None
}
