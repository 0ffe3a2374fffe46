package flow

import (
	"github.com/sluice-go/sluice/vet/internal/effect"
	"golang.org/x/tools/go/ssa"
)

// consume ends the reference in v.
func (x *explorer) consume(in ssa.CallInstruction, v ssa.Value, k effect.Kind, s *state) bool {
	f := Finding{Pos: position(in), End: position(s.at), EndText: text(s.at), Use: in, Ender: s.at, Value: v}
	switch s.status {
	case Absent:
		return true
	case Released:
		f.Category = ReleasedTwice
		if k == effect.Transferred {
			f.Category = UseAfterRelease
		}
		x.report(f)
		return false
	case Ended:
		if k == effect.Transferred {
			f.Category = UseAfterEnd
			x.report(f)
			return false
		}
	case Given:
		f.Category = UseAfterTransfer
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
	if k == effect.Transferred && x.src.inMap {
		x.handedOn(in)
		return false
	}
	if k == effect.Transferred {
		s.status, s.at = Given, in
		return true
	}
	s.status, s.at = Released, in
	if s.running != nil {
		x.leftBehind(s.running, in)
		s.running = nil
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
