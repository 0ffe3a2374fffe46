package flow

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/sluice-go/sluice/vet/internal/effect"
)

// A summary collects what a function does for its caller.
type summary struct {
	*Analysis
	fn   *ssa.Function
	list []effect.Effect
}

func newSummary(a *Analysis, fn *ssa.Function) *summary { return &summary{Analysis: a, fn: fn} }

func (s *summary) put(e effect.Effect) {
	for _, have := range s.list {
		if have.Kind == e.Kind && have.Operand == e.Operand && have.Path == e.Path && have.Result == e.Result {
			return
		}
	}
	s.list = append(s.list, e)
}

// add takes over what the search for one source has shown.
func (s *summary) add(x *explorer) {
	switch x.src.Kind {
	case Borrow:
		n, ok := s.number(x.src.Owner.Root)
		if !ok {
			return
		}
		for _, i := range x.returns0(isIt, viewOf) {
			s.put(effect.Effect{Kind: effect.Borrowed, Operand: n, Path: x.src.Owner.Path, Result: i})
		}
	case Own, Pool:
		kind := effect.Retained
		if x.src.Kind == Pool {
			kind = effect.Pooled
		}
		for _, i := range x.returns0(isIt) {
			s.put(effect.Effect{Kind: kind, Operand: effect.None, Result: i})
		}
	case View, Lent:
		for _, i := range x.returns0(isIt, viewOf) {
			s.put(effect.Effect{Kind: effect.Views, Operand: x.src.Operand, Result: i})
		}
		if x.kept.IsValid() && x.src.Kind == View {
			s.put(effect.Effect{Kind: effect.Kept, Operand: x.src.Operand, Result: effect.None, Where: " (" + s.place(x) + ")"})
		}
		if taken, left, kind := x.outcome(); x.src.Kind == View && taken > 0 && left == 0 && !x.escaped && !x.gaveUp {
			s.put(effect.Effect{Kind: kind, Operand: x.src.Operand, Result: effect.None})
		}
	case Param:
		s.param(x)
	case Found:
		s.part(x)
	}
}

func (s *summary) place(x *explorer) string {
	p := s.Fset.Position(x.kept)
	return fmt.Sprintf("%s:%d", p.Filename[strings.LastIndexByte(p.Filename, '/')+1:], p.Line)
}

// returns0 lists the results in which the resource, in one of these relations,
// is returned.
func (x *explorer) returns0(rels ...rel) []int {
	var list []int
	for _, e := range x.exits {
		for _, r := range e.returned {
			if slices.Contains(rels, r.rel) && !slices.Contains(list, r.result) {
				list = append(list, r.result)
			}
		}
	}
	return list
}

// param records what the function does with a reference parameter.
func (s *summary) param(x *explorer) {
	if x.src.Operand == effect.None {
		return
	}
	for _, i := range x.returns0(isIt) {
		s.put(effect.Effect{Kind: effect.Is, Operand: x.src.Operand, Result: i})
	}
	for _, i := range x.returns0(viewOf) {
		s.put(effect.Effect{Kind: effect.Views, Operand: x.src.Operand, Result: i})
	}
	taken, kept, kind := x.outcome()
	e := effect.Effect{Operand: x.src.Operand, Result: effect.None}
	switch {
	case slices.ContainsFunc(x.exits, func(e exit) bool { return e.replaced }):
		e.Kind = effect.Unknown
	case x.escaped || x.gaveUp || taken > 0 && kept > 0:
		e.Kind = effect.Unknown
		if taken > 0 && !x.src.generic && !s.owned(x.src.Type) && !x.gaveUp && !x.escaped && !hasBool(s.fn.Signature.Results()) && !hasError(s.fn) {
			e.Kind = effect.Released // into a pool, or dropped: gone either way
		}
	case taken > 0:
		e.Kind = kind
	default:
		return
	}
	s.put(e)
}

// outcome counts the ways out on which the resource was taken, and on which it
// is still the caller's.
func (x *explorer) outcome() (taken, kept int, kind effect.Kind) {
	kind = effect.Released
	for _, e := range x.exits {
		if e.ret == nil {
			continue
		}
		switch e.status {
		case Released:
			taken++
		case Given, Stored:
			taken++
			kind = effect.Transferred
		case Live:
			if !slices.ContainsFunc(e.returned, func(r returned) bool { return r.rel == isIt }) {
				kept++
			}
		}
	}
	return taken, kept, kind
}

// inconsistent reports a reference that a function takes on some paths and
// leaves to the caller on others, where the caller has no way to know.
func (x *explorer) inconsistent() []Finding {
	if x.src.Kind != Param || x.src.Promised || x.escaped || x.gaveUp || x.src.Operand == effect.None || x.src.Operand >= effect.FreeVars || !x.owned(x.src.Type) {
		return nil
	}
	if x.src.cell || hasBool(x.fn.Signature.Results()) {
		return nil
	}
	failedTakes := false
	for _, e := range x.exits {
		if e.ret != nil && (e.status == Released || e.status == Given) && e.failed == yes {
			failedTakes = true
		}
	}
	taken, _, _ := x.outcome()
	if taken == 0 {
		return nil
	}
	for _, e := range x.exits {
		if e.ret == nil || e.status != Live || len(e.returned) > 0 {
			continue
		}
		if e.failed == yes && !failedTakes || e.failed == unknown && hasError(x.fn) {
			continue
		}
		f := Finding{Category: NotReleased, Pos: position(e.ret), End: ending(e.ret), Use: e.ret, Ender: e.ret, Value: x.src.Value, Source: x.src}
		f.From, f.FromText = x.src.Pos, x.src.Text
		if !f.Pos.IsValid() {
			f.Pos = x.src.Pos
		}
		return []Finding{f}
	}
	return nil
}

func hasError(fn *ssa.Function) bool {
	results := fn.Signature.Results()
	return results.Len() > 0 && isError(results.At(results.Len()-1).Type())
}

// number is the operand that a parameter is.
func (s *summary) number(v ssa.Value) (int, bool) {
	switch v := v.(type) {
	case *ssa.Parameter:
		n := paramNumber(v)
		return n, n != effect.None
	case *ssa.FreeVar:
		if i := slices.Index(s.fn.FreeVars, v); i >= 0 {
			return effect.FreeVars + i, true
		}
	}
	return 0, false
}

// ends finds of which operands the function ends what they have lent, on any path.
func (s *summary) ends() {
	for _, b := range s.fn.Blocks {
		for _, in := range b.Instrs {
			c, ok := in.(ssa.CallInstruction)
			if !ok {
				continue
			}
			if _, ok := in.(*ssa.Go); ok {
				continue
			}
			effects, _ := s.Effects(c.Common())
			for _, e := range effects {
				if e.Kind != effect.Ends {
					continue
				}
				v := operand(c.Common(), e.Operand)
				if v == nil {
					continue
				}
				p := s.at(v, e.Path)
				if n, ok := s.number(p.Root); ok && len(p.Path) < 80 && !strings.Contains(p.Path, "[]") {
					s.put(effect.Effect{Kind: effect.Ends, Operand: n, Path: p.Path, Result: effect.None})
				}
			}
		}
	}
}

// effects returns the summary in a fixed order.
func (s *summary) effects() []effect.Effect {
	slices.SortStableFunc(s.list, func(e, f effect.Effect) int { return strings.Compare(e.String(), f.String()) })
	return s.list
}

// part records that the function releases, on every way through it, what a field of a
// parameter or a captured variable leads to, and leaves it there.
func (s *summary) part(x *explorer) {
	n, ok := s.number(x.src.place.Root)
	if !ok || x.escaped || x.gaveUp || x.src.Start == nil || len(x.src.place.Path) > 80 {
		return
	}
	if _, captured := x.src.place.Root.(*ssa.FreeVar); x.src.place.Path == "" && !captured {
		return
	}
	left := s.returns() // without a way there that is known
	for _, e := range x.exits {
		if e.ret == nil {
			continue
		}
		if e.status != Released || e.replaced || !x.src.Start.Block().Dominates(e.ret.Block()) {
			return
		}
		delete(left, e.ret)
	}
	if len(left) > 0 {
		return
	}
	s.put(effect.Effect{Kind: effect.Released, Operand: n, Path: x.src.place.Path, Result: effect.None})
}

// returns are the function's return statements.
func (s *summary) returns() map[*ssa.Return]bool {
	list := map[*ssa.Return]bool{}
	for _, b := range s.fn.Blocks {
		if ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return); ok {
			list[ret] = true
		}
	}
	return list
}
