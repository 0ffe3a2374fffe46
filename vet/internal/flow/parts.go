package flow

import (
	"golang.org/x/tools/go/ssa"

	"github.com/sluice-go/sluice/vet/internal/effect"
)

// A function may release a part of what it is given, as a method does that puts a
// field into a pool: an effect with a path. The part is what the place holds at the
// call, and the path must still lead to it afterwards.

// consumeParts ends what the call releases of its operands. It returns the operands
// that are dealt with by that.
func (x *explorer) consumeParts(in ssa.CallInstruction, c *ssa.CallCommon, effects []effect.Effect, s *state) (parts map[ssa.Value]bool, goOn bool) {
	for _, e := range effects {
		if e.Path == "" || e.Kind != effect.Released {
			continue
		}
		v := operand(c, e.Operand)
		if v == nil || s.holders[holder{x.at(v, e.Path), true}] != isIt {
			continue
		}
		if !x.consume(in, v, e.Kind, s) {
			return nil, false
		}
		if parts == nil {
			parts = map[ssa.Value]bool{}
		}
		parts[v] = true
	}
	return parts, true
}

// dropAssigned forgets what fields hold that the callee reaches by a pointer: it may
// have assigned to them.
func (x *explorer) dropAssigned(c *ssa.CallCommon, parts map[ssa.Value]bool, s *state) {
	if x.src.Kind != Found {
		return
	}
	for _, v := range operands(c) {
		if parts[v] || !isPointer(v.Type()) {
			continue
		}
		p := x.point(v)
		for h := range s.holders {
			if _, in := h.beneath(p); h.cell && in && !x.home(h.Root) && h.Place != p {
				delete(s.holders, h)
			}
		}
	}
}
