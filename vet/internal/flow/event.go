package flow

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/sluice-go/sluice/vet/internal/effect"
)

// goes starts a goroutine, which outlives everything that is borrowed here.
func (x *explorer) goes(in *ssa.Go, s *state) bool {
	for _, v := range operands(&in.Call) {
		r, ok := x.related(v, s)
		if !ok {
			continue
		}
		if x.borrowed() && x.src.Kind != View {
			x.outlives(in, s)
			return false
		}
		if x.src.Kind == View {
			x.kept = position(in)
			return false
		}
		if x.src.Kind == Pool || x.src.Kind == Found {
			continue
		}
		x.touch(in, v, s)
		if r == isIt {
			x.escaped = true
			return false
		}
	}
	return true
}

// deferred remembers a call that concerns the resource.
func (x *explorer) deferred(in *ssa.Defer, s *state) {
	for _, d := range s.defers {
		if d == in {
			return
		}
	}
	concerns := false
	for _, v := range operands(&in.Call) {
		if _, ok := x.related(v, s); ok {
			concerns = true
		}
	}
	if x.src.Kind == Borrow {
		effects, _ := x.Effects(&in.Call)
		for _, e := range effects {
			if v := operand(&in.Call, e.Operand); v != nil && x.at(v, e.Path) == x.src.Owner {
				concerns = true
			}
		}
	}
	if concerns {
		s.defers = append(s.defers, in)
	}
}

// runDefers runs what was deferred, the last first.
func (x *explorer) runDefers(s *state) bool {
	for len(s.defers) > 0 {
		d := s.defers[len(s.defers)-1]
		s.defers = s.defers[:len(s.defers)-1]
		if !x.apply(d, &d.Call, s) {
			return false
		}
	}
	return true
}

// returns leaves the function.
func (x *explorer) returns(in *ssa.Return, s *state) {
	e := exit{status: s.status, at: s.at, ret: in, failed: x.resultError(in, s), replaced: x.src.cell && s.holders[holder{x.src.place, true}] == 0}
	for i, v := range in.Results {
		r, ok := x.related(v, s)
		if !ok {
			continue
		}
		if s.status == Ended || s.status == Released {
			if e.failed == yes {
				continue // a part of a result, beside the error that says so
			}
			f := Finding{Category: ReturnedEnded, Pos: position(in), End: position(s.at), EndText: text(s.at), Use: in, Ender: s.at, Value: v}
			if r == isIt && s.status == Released && x.owned(v.Type()) {
				f.Category = UseAfterRelease
			}
			if s.status != Released || r != isIt || x.src.Kind != Found && x.src.Kind != Param {
				x.report(f)
			}
			continue
		}
		e.returned = append(e.returned, returned{i, "", r})
	}
	x.exits = append(x.exits, e)
	for h, store := range s.stored {
		if s.holders[h] == isIt || s.holders[h] == viewOf {
			x.storedAtExit(h, store, s)
		}
	}
	if s.status != Live || !x.src.duty() {
		return
	}
	for _, r := range e.returned {
		if r.rel == isIt || r.rel == inside {
			return
		}
	}
	x.leak(in, s, "")
}

// storedAtExit is about memory outside the function that still holds the
// resource when it returns.
func (x *explorer) storedAtExit(h holder, store ssa.Instruction, s *state) {
	switch x.src.Kind {
	case Borrow, Lent:
		x.outlives(store, s)
	case View:
		x.kept = position(store)
	}
}

func (x *explorer) panics(in *ssa.Panic, s *state) {
	if !x.runDefers(s) || !in.Pos().IsValid() {
		return
	}
	x.exits = append(x.exits, exit{status: s.status, at: s.at})
	if s.status == Live && x.src.Kind == Own {
		x.leak(in, s, "")
	}
}

// leak reports a reference that is not released on the way to in.
func (x *explorer) leak(in ssa.Instruction, s *state, how string) {
	for h, r := range s.holders {
		if r == isIt && weak(h.Path) {
			return // in a list, whose elements are not told apart
		}
	}
	f := Finding{Category: Leak, Pos: x.src.Pos, End: position(in), EndText: how, Use: x.src.Start, Ender: in, Value: x.src.Value}
	if x.src.Promised {
		f.Pos = position(in)
	}
	if !f.Pos.IsValid() {
		f.Pos = x.src.Pos
	}
	x.report(f)
}

// sends hands v to whoever receives.
func (x *explorer) sends(in ssa.Instruction, v ssa.Value, s *state) bool {
	r, ok := x.related(v, s)
	if !ok {
		return true
	}
	switch {
	case x.src.Kind == View:
		x.kept = position(in)
		return false
	case x.borrowed():
		x.outlives(in, s)
		return false
	case r == isIt && x.src.Kind != Pool && (x.src.Kind != Found || x.owned(x.src.Type)):
		x.touch(in, v, s)
		if s.status == Stored {
			x.copied(in, s)
			return false
		}
		s.status, s.at = Given, in
	}
	return true
}

// selects returns the states after a select: one for each case that sends the
// resource, and one for all others.
func (x *explorer) selects(in *ssa.Select, s *state) []*state {
	if in == x.src.Start {
		if x.src.Kind == Own && s.status == Live {
			x.leak(in, s, "when the loop comes round")
		}
		return nil
	}
	index := indexOf(in)
	if index != nil {
		s.forget(index)
	}
	rest := s.clone()
	rest.forget(in)
	var ways []*state
	for i, st := range in.States {
		if st.Dir != types.SendOnly {
			continue
		}
		if _, ok := x.related(st.Send, s); !ok {
			continue
		}
		way := s.clone()
		way.forget(in)
		if index != nil {
			way.conds[selectCond(index, i)] = true
			rest.conds[selectCond(index, i)] = false
		}
		if x.sends(in, st.Send, way) {
			ways = append(ways, way)
		}
	}
	return append(ways, rest)
}

// indexOf returns the number of the case that a select took.
func indexOf(in *ssa.Select) ssa.Value {
	for _, r := range *in.Referrers() {
		if e, ok := r.(*ssa.Extract); ok && e.Index == 0 {
			return e
		}
	}
	return nil
}

func selectCond(index ssa.Value, i int) cond {
	return cond{op: token.EQL, x: index, konst: constInt(i)}
}

// mapUpdate puts something into a map.
func (x *explorer) mapUpdate(in *ssa.MapUpdate, s *state) bool {
	adds := map[holder]rel{}
	p := x.point(in.Map).then("[]")
	for h, r := range s.holders {
		if !h.cell && h.Root == in.Value {
			adds[holder{p.then(h.Path), true}] = r
		}
	}
	if len(adds) == 0 {
		return true
	}
	x.touch(in, in.Value, s)
	if x.home(p.Root) {
		for h, r := range adds {
			s.holders[h] = r
		}
		// A map in hand: what it holds is looked at when it is used.
		return true
	}
	switch {
	case x.src.Kind == View:
		x.kept = position(in)
		return false
	case x.borrowed():
		x.outlives(in, s)
		return false
	case x.src.Kind == Own || x.src.Kind == Param:
		return x.storeOwned(in, p, adds, s)
	}
	return true
}

// closure captures variables.
func (x *explorer) closure(in *ssa.MakeClosure, s *state) bool {
	captured := false
	for _, b := range in.Bindings {
		if r, ok := x.related(b, s); ok && r <= viewOf {
			captured = true
		}
	}
	if !captured {
		return true
	}
	if !x.borrowed() && !x.onlyLooks(in) {
		if usedAtOnce(in) {
			return true
		}
		x.escaped = true
		return false
	}
	s.holders[holder{Place{in, ""}, false}] = inside
	return true
}

// usedAtOnce reports whether a literal is only called, deferred or started.
func usedAtOnce(in *ssa.MakeClosure) bool {
	for _, r := range *in.Referrers() {
		c, ok := r.(ssa.CallInstruction)
		if !ok || c.Common().Value != in {
			return false
		}
	}
	return true
}

// onlyLooks reports whether a literal neither ends, gives on nor assigns what it
// captures.
func (x *explorer) onlyLooks(in *ssa.MakeClosure) bool {
	fn := in.Fn.(*ssa.Function)
	for _, e := range x.function(fn).effects {
		switch e.Kind {
		case effect.Released, effect.Transferred, effect.Unknown:
			return false
		}
	}
	for _, b := range in.Bindings {
		if x.closureStores(in, b) {
			return false
		}
	}
	return true
}

// outlives reports that borrowed bytes go where they are after their end.
func (x *explorer) outlives(in ssa.Instruction, s *state) {
	x.report(Finding{Category: Outlives, Pos: position(in), End: position(in), EndText: where(in), Use: in, Value: x.src.Value})
}

// keeps reports that borrowed bytes are passed to a function which stores them.
func (x *explorer) keeps(in ssa.CallInstruction, e effect.Effect, s *state) {
	if x.src.Kind == View {
		x.kept = position(in)
		return
	}
	x.report(Finding{Category: Outlives, Pos: position(in), End: position(in), EndText: text(in) + ", which keeps them" + e.Where, Use: in, Value: x.src.Value})
}

// where names the place that something is stored in.
func where(in ssa.Instruction) string {
	switch in := in.(type) {
	case *ssa.Go:
		return "a goroutine"
	case *ssa.Send, *ssa.Select:
		return "a channel"
	case *ssa.MapUpdate:
		return "a map"
	case *ssa.Store:
		switch addr := in.Addr.(type) {
		case *ssa.Global:
			return "the global " + addr.Name()
		case *ssa.FieldAddr:
			return "the field " + fieldName(addr.X.Type(), addr.Field)
		case *ssa.FreeVar:
			return "the captured variable " + addr.Name()
		}
		return "memory that is there afterwards"
	case ssa.CallInstruction:
		return text(in) + ", which runs later"
	}
	return "something"
}

// copied reports a second life of one reference.
func (x *explorer) copied(in ssa.Instruction, s *state) {
	x.report(Finding{Category: Copied, Pos: position(in), End: position(s.at), EndText: text(s.at), Use: in, Ender: s.at, Value: x.src.Value})
}
