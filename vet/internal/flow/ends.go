package flow

import (
	"go/token"
	"strconv"

	"golang.org/x/tools/go/ssa"

	"github.com/sluice-go/sluice/vet/internal/effect"
)

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
			if s.running != nil {
				x.outlives(s.running)
				s.running = nil
			}
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

// dropForeign forgets the contents of fields, because the call may have assigned to
// them. A stored borrowed view is remembered.
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
