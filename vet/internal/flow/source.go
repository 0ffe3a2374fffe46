package flow

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// SourceKind says how a function got the resource.
type SourceKind uint8

const (
	// Borrow: lent by a call, until another one ends it.
	Borrow SourceKind = iota
	// Own: retained; must be released.
	Own
	// Pool: taken from a pool; may be put back.
	Pool
	// Param: a parameter that stands for a reference.
	Param
	// View: a parameter of bytes, borrowed until the function returns.
	View
	// Lent: a parameter of a handler or a callback, borrowed by its contract.
	Lent
	// Found: it comes from a place without ownership information.
	Found
)

// A Source is where the function gets a resource.
type Source struct {
	Kind   SourceKind
	Start  ssa.Instruction // nil: on entry
	Value  ssa.Value
	Result int   // of a call with several, else -1
	Owner  Place // Borrow: who lent it
	Type   types.Type
	Text   string
	Pos    token.Pos
	// Operand is the parameter's number, as effects count.
	Operand int
	// Promised: the function's comment or the table says that it takes the parameter.
	Promised bool

	cell  bool // Value is the address of what is followed
	place Place
	// ended: Start is a call that has released what is at place.
	ended bool
	// generic: the parameter's type is one of the function's own, for which a caller may
	// choose a reference.
	generic bool
	// inMap: a map still has the reference when the function returns.
	inMap bool

	selects bool // Value is a select, which receives in its case number state
	state   int
}

// begin enters the source into a state.
func (src *Source) begin(s *state) {
	if src.selects {
		in := src.Value.(*ssa.Select)
		if index := indexOf(in); index != nil {
			for i := range in.States {
				s.conds[selectCond(index, i)] = i == src.state
			}
		}
	}
	if src.ended {
		s.status, s.at = Released, src.Start
	}
	switch {
	case src.cell:
		s.holders[holder{src.place, true}] = isIt
	case src.Result >= 0:
		s.holders[holder{Place{src.Value, tuplePath(src.Result)}, false}] = isIt
		results := src.Value.Type().(*types.Tuple)
		last := results.Len() - 1
		if src.selects {
			last = 1 // whether the case that was taken has received something
		}
		if last == src.Result {
			break
		}
		switch t := results.At(last).Type(); {
		case isError(t):
			s.holders[holder{Place{src.Value, tuplePath(last)}, false}] = errOf
		case isBool(t):
			s.holders[holder{Place{src.Value, tuplePath(last)}, false}] = okOf
		}
	default:
		s.holders[holder{Place{src.Value, ""}, false}] = isIt
		if src.place.Root != nil {
			s.holders[holder{src.place, true}] = isIt
		}
	}
}

// duty reports whether the function has to release the resource or to hand it on.
func (src *Source) duty() bool { return src.Kind == Own || src.Promised }

func isBool(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

func tuplePath(i int) string { return "#" + string(rune('0'+i)) }

// indexOf returns the number of the case that a select took.
func indexOf(in *ssa.Select) ssa.Value {
	for _, r := range *in.Referrers() {
		if e, ok := r.(*ssa.Extract); ok && e.Index == 0 {
			return e
		}
	}
	return nil
}
