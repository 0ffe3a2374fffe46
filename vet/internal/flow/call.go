package flow

import (
	"go/token"
	"go/types"
	"slices"
	"strconv"

	"golang.org/x/tools/go/ssa"

	"github.com/sluice-go/sluice/vet/internal/effect"
)

// call runs a call.
func (x *explorer) call(in *ssa.Call, s *state) bool {
	if x.never(&in.Call) {
		return false
	}
	if b, ok := in.Call.Value.(*ssa.Builtin); ok {
		x.builtin(in, b, s)
		return true
	}
	results := x.resultsOf(in, s)
	if !x.apply(in, &in.Call, s) {
		return false
	}
	s.forget(in)
	for h, r := range results {
		s.holders[h] = r
	}
	return true
}

// resultsOf returns what of the resource is in a call's results.
func (x *explorer) resultsOf(in *ssa.Call, s *state) map[holder]rel {
	effects, _ := x.Effects(&in.Call)
	var found map[holder]rel
	put := func(path string, r rel) {
		if found == nil {
			found = map[holder]rel{}
		}
		found[holder{Place{in, path}, false}] = r
	}
	results := in.Call.Signature().Results()
	for _, e := range effects {
		if e.Kind != effect.Views && e.Kind != effect.Is && e.Kind != effect.Asked {
			continue
		}
		v := operand(&in.Call, e.Operand)
		if v == nil {
			continue
		}
		r, ok := x.related(v, s)
		if !ok {
			continue
		}
		if e.Kind == effect.Asked {
			put("", askOf)
			continue
		}
		if e.Result >= results.Len() || isScalar(results.At(e.Result).Type()) {
			continue
		}
		if e.Kind == effect.Views && r == isIt && !x.borrowed() {
			r = viewOf
		}
		path := ""
		if results.Len() > 1 {
			path = tuplePath(e.Result)
		}
		put(path, r)
	}
	if x.isErrorTest(&in.Call, s) {
		put("", errOf)
	}
	return found
}

// isErrorTest reports whether the call is errors.Is or errors.As of the error
// that came with the resource: if so, there was an error.
func (x *explorer) isErrorTest(c *ssa.CallCommon, s *state) bool {
	callee := c.StaticCallee()
	if callee == nil || callee.Pkg == nil || callee.Pkg.Pkg.Path() != "errors" || len(c.Args) == 0 {
		return false
	}
	for h, r := range s.holders {
		if r == errOf && !h.cell && h.Root == c.Args[0] {
			return true
		}
	}
	return false
}

// apply runs what a call does to its operands. It is also for calls that were
// deferred.
func (x *explorer) apply(in ssa.CallInstruction, c *ssa.CallCommon, s *state) bool {
	effects, known := x.Effects(c)
	about := func(v ssa.Value, kinds ...effect.Kind) (effect.Effect, bool) {
		for _, e := range effects {
			if slices.Contains(kinds, e.Kind) && operand(c, e.Operand) == v {
				return e, true
			}
		}
		return effect.Effect{}, false
	}
	lost := false
	for _, v := range operands(c) {
		r, ok := x.related(v, s)
		if !ok || r == inside && !isClosure(v) {
			continue
		}
		_, ends := about(v, effect.Released, effect.Transferred)
		_, asks := about(v, effect.Asked)
		kept, keeps := about(v, effect.Kept)
		_, vague := about(v, effect.Unknown)
		vague = vague || r == isIt && !x.owned(v.Type()) && !x.tabled(c)
		switch {
		case asks:
		case ends && r == isIt && !vague:
			if !x.consume(in, v, kindOf(effects, c, v), s) {
				return false
			}
		case r == inside:
			if keeps && x.borrowed() {
				x.outlives(in, s)
				return false
			}
			lost = lost || keeps && !x.borrowed()
		default:
			if !vague && !(r == isIt && x.around(v, s)) {
				x.touch(in, v, s)
			}
			if keeps && x.borrowed() {
				x.keeps(in, kept, s)
				return false
			}
			if !x.borrowed() && r == isIt && (vague || keeps || !known && x.takes()) {
				lost = true
			}
		}
	}
	if lost {
		x.escaped = true
		return false
	}
	x.ends(in, c, effects, s)
	if !known {
		x.dropForeign(s)
	}
	return true
}

// tabled reports whether the table says what the call does: then it is meant for
// whatever the operand is.
func (x *explorer) tabled(c *ssa.CallCommon) bool {
	if x.borrowed() || x.pooled() {
		return true
	}
	if c.IsInvoke() {
		_, ok := x.methodEffects(c)
		return ok
	}
	if callee := c.StaticCallee(); callee != nil {
		if f, ok := callee.Object().(*types.Func); ok {
			_, ok = x.Models.Func(f)
			return ok
		}
		return callee.Parent() != nil
	}
	return false
}

// around reports whether v only leads to memory that holds the reference among
// other things: passing it on uses nothing.
func (x *explorer) around(v ssa.Value, s *state) bool {
	if x.borrowed() {
		return false
	}
	p := x.point(v)
	found := false
	for h := range s.holders {
		if !h.cell {
			if h.Root == v {
				return false
			}
			continue
		}
		if rest, ok := h.beneath(p); ok {
			if rest == "" {
				return false
			}
			found = true
		}
	}
	return found
}

func isClosure(v ssa.Value) bool {
	_, ok := v.Type().Underlying().(*types.Signature)
	return ok
}

// takes reports whether an unknown function might take the reference that it is
// given.
func (x *explorer) takes() bool {
	return !x.pooled()
}

// pooled reports whether the resource counts no references: it is gone once it is
// in a pool, and passing it on means nothing.
func (x *explorer) pooled() bool {
	return x.src.Kind == Pool || (x.src.Kind == Found || x.src.Kind == Param) && !x.owned(x.src.Type)
}

func kindOf(effects []effect.Effect, c *ssa.CallCommon, v ssa.Value) effect.Kind {
	for _, e := range effects {
		if (e.Kind == effect.Released || e.Kind == effect.Transferred) && operand(c, e.Operand) == v {
			return e.Kind
		}
	}
	return 0
}

// operands are a call's receiver, arguments and, for a function literal, what
// it captures.
func operands(c *ssa.CallCommon) []ssa.Value {
	var list []ssa.Value
	if c.IsInvoke() {
		list = append(list, c.Value)
	}
	list = append(list, c.Args...)
	if mc, ok := c.Value.(*ssa.MakeClosure); ok {
		list = append(list, mc.Bindings...)
	}
	return list
}

// consume ends the reference in v.
func (x *explorer) consume(in ssa.CallInstruction, v ssa.Value, k effect.Kind, s *state) bool {
	f := Finding{Pos: position(in), End: position(s.at), EndText: text(s.at), Use: in, Ender: s.at, Value: v}
	switch s.status {
	case Absent:
		return true
	case Released:
		f.Category = DoubleRelease
		if k == effect.Transferred {
			f.Category = UseAfterRelease
		}
		x.report(f)
		return false
	case Given:
		f.Category = UseAfterGive
		x.report(f)
		return false
	case Stored:
		if !x.inStore(v, s) {
			x.copied(in, s)
			return false
		}
	}
	if x.src.Kind == Lent {
		return false
	}
	s.status, s.at = Released, in
	if k == effect.Transferred {
		s.status = Given
	}
	return true
}

// inStore reports whether v leads to where the reference was stored: it is not
// another copy.
func (x *explorer) inStore(v ssa.Value, s *state) bool {
	p := x.point(v)
	if u, ok := v.(*ssa.UnOp); ok {
		p = x.point(u.X)
	}
	for h := range s.stored {
		if _, ok := h.beneath(p); ok {
			return true
		}
		if _, ok := p.beneath(h.Place); ok {
			return true
		}
	}
	return false
}

// ends applies what a call does to what its operands have lent.
func (x *explorer) ends(in ssa.CallInstruction, c *ssa.CallCommon, effects []effect.Effect, s *state) {
	for _, e := range effects {
		if e.Kind != effect.Ends && e.Kind != effect.Released {
			continue
		}
		v := operand(c, e.Operand)
		var p Place
		switch {
		case v != nil:
			p = x.at(v, e.Path)
		case e.Operand == effect.Recv && c.StaticCallee() != nil:
			p = packageOwner(c.StaticCallee())
		default:
			continue
		}
		if x.src.Kind == Borrow && p == x.src.Owner && s.status == Live && !x.onlyBuffered(c, s) {
			s.status, s.at = Ended, in
		}
		if e.Kind != effect.Ends || v == nil || x.borrowed() {
			continue
		}
		if r, ok := x.related(v, s); ok && r == isIt && s.status == Live {
			for h, r := range s.holders {
				if r == viewOf {
					s.holders[h], s.moved = stale, in
				}
			}
		}
	}
}

// onlyBuffered reports whether a call is a Peek of bytes that are certainly
// buffered, after a test such as r.Buffered() > 1: it moves nothing.
func (x *explorer) onlyBuffered(c *ssa.CallCommon, s *state) bool {
	callee := c.StaticCallee()
	if callee == nil || callee.Name() != "Peek" || len(c.Args) != 2 {
		return false
	}
	n, ok := c.Args[1].(*ssa.Const)
	if !ok {
		return false
	}
	for k, holds := range s.conds {
		call, ok := k.x.(*ssa.Call)
		if !ok || k.konst == "" || call.Call.StaticCallee() == nil || call.Call.StaticCallee().Name() != "Buffered" {
			continue
		}
		least, err := strconv.ParseInt(k.konst, 10, 64)
		if err != nil || x.point(call.Call.Args[0]) != x.point(c.Args[0]) {
			continue
		}
		if k.op == token.GTR && holds && n.Int64() <= least+1 || k.op == token.LSS && !holds && n.Int64() <= least {
			return true
		}
	}
	return false
}

// dropForeign forgets that fields hold what they held: the call may have
// assigned to them. A borrowed view that was stored is remembered.
func (x *explorer) dropForeign(s *state) {
	if x.src.Kind != Found {
		return
	}
	for h := range s.holders {
		if h.cell && !x.home(h.Root) {
			delete(s.holders, h)
		}
	}
}

// builtin runs append, copy and their like.
func (x *explorer) builtin(in *ssa.Call, b *ssa.Builtin, s *state) {
	args := in.Call.Args
	adds := map[holder]rel{}
	switch b.Name() {
	case "append":
		elem := in.Type().Underlying().(*types.Slice).Elem()
		for i, v := range args {
			for h, r := range s.holders {
				if h.cell || h.Root != v {
					continue
				}
				if i == 0 {
					if h.Path == "" {
						x.touch(in, v, s)
					}
					adds[holder{Place{in, h.Path}, false}] = r
				} else if isScalar(elem) {
					x.touch(in, v, s)
				} else {
					path := h.Path
					if path == "" {
						path = "[]"
					}
					adds[holder{Place{in, path}, false}] = r
				}
			}
		}
	case "copy", "string", "print", "println":
		for _, v := range args {
			x.touch(in, v, s)
		}
	case "clear":
	}
	s.forget(in)
	for h, r := range adds {
		s.holders[h] = r
	}
}

// neverReturn are functions of other packages after which nothing happens.
var neverReturn = map[string]bool{
	"os.Exit": true, "runtime.Goexit": true, "log.Fatal": true, "log.Fatalf": true, "log.Fatalln": true,
	"log.Panic": true, "log.Panicf": true, "log.Panicln": true,
	"testing.Fatal": true, "testing.Fatalf": true, "testing.FailNow": true, "testing.Skip": true, "testing.Skipf": true, "testing.SkipNow": true,
}

// never reports whether a call does not come back.
func (x *explorer) never(c *ssa.CallCommon) bool {
	if c.IsInvoke() {
		return c.Method.Pkg() != nil && neverReturn[c.Method.Pkg().Name()+"."+c.Method.Name()] && c.Method.Pkg().Path() == "testing"
	}
	callee := c.StaticCallee()
	if callee == nil || callee.Object() == nil || callee.Object().Pkg() == nil {
		return false
	}
	pkg := callee.Object().Pkg()
	if len(callee.Blocks) == 0 {
		return pkg.Path() == pkg.Name() && neverReturn[pkg.Path()+"."+callee.Name()]
	}
	for _, b := range callee.Blocks {
		if _, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return); ok {
			return false
		}
	}
	return callee.Recover == nil
}
