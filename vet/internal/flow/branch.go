package flow

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// branch enters the arm of an if on which cond is taken. It reports whether the
// path is possible.
func (x *explorer) branch(c ssa.Value, taken bool, s *state) bool {
	key, negated := condition(c)
	if negated {
		taken = !taken
	}
	if known, ok := s.conds[key]; ok && known != taken {
		return false
	}
	s.conds[key] = taken
	if !taken && x.grown(key, s) {
		return false
	}
	r, is := x.conditionOf(key, s)
	if !is {
		return x.nilTest(key, taken, s)
	}
	failed := false
	switch r {
	case errOf:
		// errors.Is, or err == io.EOF: true means that there is an error.
		failed = taken
		if key.op == token.EQL && key.konst == "nil" {
			failed = !taken
		}
		if !failed && (key.op != token.EQL || key.konst != "nil") {
			return true
		}
	case okOf:
		failed = !taken
	case askOf:
		if taken {
			return s.status == Live || s.status == Stored
		}
		failed = true
	}
	if failed && s.status == Live && x.src.Kind != Borrow {
		s.status = Absent
		return true
	}
	return true
}

// grown reports whether a condition that does not hold is that bytes have the capacity
// of what was borrowed, as in cap(p) != w.Available(): then append has moved them.
func (x *explorer) grown(c cond, s *state) bool {
	if !x.borrowed() || c.op != token.EQL || c.length != "cap" || c.y == nil {
		return false
	}
	r, ok := x.related(c.x, s)
	return ok && r <= viewOf
}

// conditionOf returns the relation of a condition to the resource.
func (x *explorer) conditionOf(c cond, s *state) (rel, bool) {
	for h, r := range s.holders {
		if h.cell || h.Root != c.x && h.Root != c.y || h.Root == nil {
			continue
		}
		if r == errOf || r == okOf || r == askOf {
			return r, true
		}
	}
	return 0, false
}

// nilTest handles references that are pointers: a nil pointer is no reference.
func (x *explorer) nilTest(c cond, taken bool, s *state) bool {
	if c.op != token.EQL || c.konst != "nil" {
		return true
	}
	for h, r := range s.holders {
		if !h.cell && h.Root == c.x && h.Path == "" && r == isIt && types.Identical(c.x.Type(), x.src.Type) {
			if taken && s.status == Live {
				s.status = Absent
			}
			return true
		}
	}
	return true
}
