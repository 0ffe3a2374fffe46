package flow

import (
	"golang.org/x/tools/go/ssa"

	"github.com/sluice-go/sluice/vet/internal/effect"
)

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
