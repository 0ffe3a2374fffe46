package flow

import (
	"strings"

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
		if x.borrowed() {
			return x.background(in, s)
		}
		if x.src.Kind == Found {
			continue
		}
		effects, known := x.Effects(&in.Call)
		k := kindOf(effects, &in.Call, v)
		switch {
		case k != 0 && r == isIt:
			if !x.consume(in, v, effect.Transferred, s) {
				return false
			}
		case r == viewOf || known && !hasAny(effects, &in.Call, v):
			x.touch(in, v, s)
			x.lendsTo(in, s)
		case x.src.Kind == Pool:
		default:
			x.touch(in, v, s)
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
	concerns := waits(&in.Call)
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
	e := exit{status: s.status, at: s.at, ret: in, failed: x.resultError(in, s), replaced: x.src.place.Root != nil && s.holders[holder{x.src.place, true}] == 0}
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
	if s.running != nil && x.borrowed() {
		x.outlives(s.running)
	}
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
		if s.status == Released {
			return // in a reference that mem.Wrap made of it
		}
		if s.status != Live || !x.lenderEndsHere() {
			x.outlives(store)
		}
	case View:
		x.kept = position(store)
	default:
		if s.status == Released && s.holders[h] == viewOf {
			x.leftBehind(store, s.at)
		}
	}
}

// lenderEndsHere reports whether the lender is a reader or a scanner that the function
// has made: what it has lent when the function returns, no call ends any more.
func (x *explorer) lenderEndsHere() bool {
	c, ok := x.src.Owner.Root.(*ssa.Call)
	if !ok || x.src.Owner.Path != "" {
		return false
	}
	callee := c.Call.StaticCallee()
	return callee != nil && callee.Pkg != nil && callee.Pkg.Pkg.Path() == "bufio" && strings.HasPrefix(callee.Name(), "New")
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
