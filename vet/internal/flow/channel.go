package flow

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/sluice-go/sluice/vet/internal/effect"
)

// sends hands v to the receiver.
func (x *explorer) sends(in ssa.Instruction, ch, v ssa.Value, s *state) bool {
	r, ok := x.related(v, s)
	if !ok {
		return true
	}
	given := x.transferring(ch)
	if x.src.Kind == View {
		x.kept = position(in)
	}
	switch {
	case x.src.Kind == View && !given:
		return false
	case x.borrowed() && x.src.Kind != View:
		x.outlives(in)
		return false
	case r == isIt && x.src.Kind != Pool && (x.src.Kind != Found || x.owned(x.src.Type) || given):
		x.touch(in, v, s)
		if s.status == Stored {
			x.copied(in, s)
			return false
		}
		if x.src.inMap {
			x.handedOn(in)
			return false
		}
		s.status, s.at = Given, in
	case r == viewOf || r == isIt && x.src.Kind == Pool:
		x.touch(in, v, s)
		if showsBytes(v, s) {
			x.lendsTo(in, s)
		}
	}
	return true
}

// transferring reports whether ch is a field of which the table says that what is sent
// is transferred, plain bytes too, as slices on BufReader.Mouth are.
func (a *Analysis) transferring(ch ssa.Value) bool {
	load, ok := ch.(*ssa.UnOp)
	if !ok {
		return false
	}
	field, ok := load.X.(*ssa.FieldAddr)
	return ok && has(a.Models.Field(field.X.Type(), fieldName(field.X.Type(), field.Field)), 0, effect.Transferred)
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
			for k := range in.States {
				way.conds[selectCond(index, k)] = k == i
			}
			rest.conds[selectCond(index, i)] = false
		}
		if x.sends(in, st.Chan, st.Send, way) {
			ways = append(ways, way)
		}
	}
	return append(ways, rest)
}
