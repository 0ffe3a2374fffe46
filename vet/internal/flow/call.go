package flow

import (
	"go/types"
	"slices"

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
	given := s.status == Given && s.at == in
	for h, r := range results {
		if given && r == viewOf {
			continue // what the callee shows of what it has taken, it has to keep
		}
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
		if !ok || wraps(effects, e.Operand) && !x.lent() {
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
	if last := results.Len() - 1; last > 0 && len(found) > 0 && isError(results.At(last).Type()) && x.takesError(&in.Call, s) {
		put(tuplePath(last), errOf) // the reference and its error, passed on
	}
	if last := results.Len() - 1; x.isErrorTest(&in.Call, s) {
		path := ""
		if last > 0 {
			path = tuplePath(last)
		}
		put(path, errOf)
	}
	return found
}

// isErrorTest reports whether the call asks something of the error that came with
// the resource, as errors.Is, errors.As, os.IsTimeout and functions of the user's do:
// if the answer is true, there was an error.
func (x *explorer) isErrorTest(c *ssa.CallCommon, s *state) bool {
	results := c.Signature().Results()
	if results.Len() == 0 || !isBool(results.At(results.Len()-1).Type()) {
		return false
	}
	return x.takesError(c, s)
}

// takesError reports whether an argument is the error that came with the resource.
func (x *explorer) takesError(c *ssa.CallCommon, s *state) bool {
	return slices.ContainsFunc(c.Args, func(v ssa.Value) bool {
		r, ok := s.holders[holder{Place{v, ""}, false}]
		return ok && r == errOf
	})
}

// apply runs what a call does to its operands. It is also for calls that were
// deferred.
func (x *explorer) apply(in ssa.CallInstruction, c *ssa.CallCommon, s *state) bool {
	effects, known := x.Effects(c)
	about := func(v ssa.Value, kinds ...effect.Kind) (effect.Effect, bool) {
		for _, e := range effects {
			if e.Path == "" && slices.Contains(kinds, e.Kind) && operand(c, e.Operand) == v {
				return e, true
			}
		}
		return effect.Effect{}, false
	}
	if waits(c) {
		s.running = nil
	}
	parts, goOn := x.consumeParts(in, c, effects, s)
	if !goOn {
		return false
	}
	lost, consumed := false, parts != nil
	for _, v := range operands(c) {
		r, ok := x.related(v, s)
		if !ok || r == inside && !isClosure(v) || parts[v] {
			continue
		}
		_, ends := about(v, effect.Released, effect.Transferred)
		_, asks := about(v, effect.Asked)
		kept, keeps := about(v, effect.Kept)
		_, vague := about(v, effect.Unknown)
		vague = vague || r == isIt && !x.owned(v.Type()) && !x.tabled(c)
		switch {
		case asks:
		case ends && !keeps && x.lent() && wraps(effects, operandOf(c, v)):
			x.touch(in, v, s)
		case ends && r == isIt && s.status == Released && x.pooled() && x.around(v, s):
			// It is in its pool, and what has led to it goes into another.
		case ends && r == isIt && !vague:
			if keeps && x.borrowed() {
				x.keeps(in, kept)
				if x.src.Kind != View {
					return false
				}
			}
			if !x.consume(in, v, kindOf(effects, c, v), s) {
				return false
			}
			consumed = true
		case r == inside:
			if keeps && x.borrowed() {
				return x.background(in, s)
			}
			lost = lost || keeps && !x.borrowed()
		default:
			// What one operand stands for, the call has not ended before it uses another.
			if !vague && !consumed && !(r == isIt && x.around(v, s)) {
				x.touch(in, v, s)
			}
			if keeps && ends && r == viewOf && !x.borrowed() {
				x.lendsTo(in, s)
			}
			if keeps && x.borrowed() {
				x.keeps(in, kept)
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
	x.dropAssigned(c, parts, s)
	return true
}

// wraps reports whether a call makes a reference of the bytes that the operand is, as mem.Wrap does. One of
// bytes that are lent is lent, too.
func wraps(effects []effect.Effect, operand int) bool {
	return has(effects, operand, effect.Transferred) && has(effects, operand, effect.Views)
}

// lent reports whether the resource is not the function's to give away.
func (x *explorer) lent() bool { return x.src.Kind == Borrow || x.src.Kind == Lent }

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
