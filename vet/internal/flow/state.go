package flow

import (
	"fmt"
	"go/constant"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// Status is the state of a resource on one path.
type Status uint8

const (
	// Live: borrowed bytes may be used; a reference must be released.
	Live Status = iota
	// Absent: there is none on this path, because the call failed.
	Absent
	// Ended: the borrowed bytes have ended.
	Ended
	// Released, once.
	Released
	// Given: transferred to another function or sent over a channel.
	Given
	// Stored where other code reaches it: a field, a map, a global.
	Stored
)

// rel is the relation of a value to the resource.
type rel uint8

const (
	isIt   rel = iota + 1 // the reference or the borrowed slice itself
	viewOf                // bytes of it
	stale                 // bytes of it that were moved meanwhile
	errOf                 // the error that says whether there is one
	okOf                  // the bool that does
	askOf                 // the result of Valid
	inside                // a closure that captured it
)

// A holder is a register (value) or memory (cell) in which the resource, or what
// came with it, is found; path leads there within the value.
type holder struct {
	Place
	cell bool
}

// A cond is a condition in one form, however it was written.
type cond struct {
	op   token.Token // EQL, LSS, GTR; ILLEGAL for a bool itself
	x, y ssa.Value
	konst,
	length string
}

// state is one path's knowledge of the resource.
type state struct {
	status  Status
	at      ssa.Instruction // what changed the status
	holders map[holder]rel
	stored  map[holder]ssa.Instruction // of cells outside the function: the store
	defers  []*ssa.Defer
	conds   map[cond]bool
	moved   ssa.Instruction // what made views stale
	running ssa.Instruction // a goroutine that uses it, until a Wait
}

func newState() *state {
	return &state{holders: map[holder]rel{}, stored: map[holder]ssa.Instruction{}, conds: map[cond]bool{}}
}

func (s *state) clone() *state {
	c := *s
	c.holders = maps.Clone(s.holders)
	c.stored = maps.Clone(s.stored)
	c.conds = maps.Clone(s.conds)
	c.defers = slices.Clone(s.defers)
	return &c
}

// key is equal for states that need not be distinguished, apart from their known
// conditions.
func (s *state) key(ids map[ssa.Value]int) string {
	list := make([]string, 0, len(s.holders))
	for h, r := range s.holders {
		kind := "v"
		if h.cell {
			kind = "c"
		}
		list = append(list, strconv.Itoa(id(ids, h.Root))+h.Path+kind+strconv.Itoa(int(r)))
	}
	slices.Sort(list)
	var b strings.Builder
	fmt.Fprintf(&b, "%d %p %p %p", s.status, s.at, s.moved, s.running)
	for _, d := range s.defers {
		fmt.Fprintf(&b, " %p", d)
	}
	for _, l := range list {
		b.WriteByte(' ')
		b.WriteString(l)
	}
	return b.String()
}

func id(ids map[ssa.Value]int, v ssa.Value) int {
	n, ok := ids[v]
	if !ok {
		n = len(ids) + 1
		ids[v] = n
	}
	return n
}

// meet keeps only the conditions that both states know, and reports whether that
// changed s.
func (s *state) meet(other map[cond]bool) (changed bool) {
	for c, v := range s.conds {
		if w, ok := other[c]; !ok || v != w {
			delete(s.conds, c)
			changed = true
		}
	}
	return changed
}

// forget removes what is known of v, which is defined again.
func (s *state) forget(v ssa.Value) {
	for h := range s.holders {
		if h.Root == v {
			delete(s.holders, h)
			delete(s.stored, h)
		}
	}
	for c := range s.conds {
		if c.x == v || c.y == v {
			delete(s.conds, c)
		}
	}
}

// condition returns the canonical form of a bool, and whether it is negated.
func condition(v ssa.Value) (c cond, negated bool) {
	switch v := v.(type) {
	case *ssa.UnOp:
		if v.Op == token.NOT {
			c, negated = condition(v.X)
			return c, !negated
		}
	case *ssa.BinOp:
		op := v.Op
		switch op {
		case token.NEQ:
			op, negated = token.EQL, true
		case token.GEQ:
			op, negated = token.LSS, true
		case token.LEQ:
			op, negated = token.GTR, true
		case token.EQL, token.LSS, token.GTR:
		default:
			return cond{x: v}, false
		}
		c := cond{op: op, x: v.X, y: v.Y}
		if k, ok := v.Y.(*ssa.Const); ok {
			c.y, c.konst = nil, constText(k)
		}
		if call, ok := v.X.(*ssa.Call); ok {
			if b, ok := call.Call.Value.(*ssa.Builtin); ok && (b.Name() == "len" || b.Name() == "cap") {
				c.x, c.length = call.Call.Args[0], b.Name()
			}
		}
		return c, negated
	}
	return cond{x: v}, false
}

func constText(k *ssa.Const) string {
	if k.Value == nil {
		return "nil"
	}
	return k.Value.ExactString()
}

func nilCond(v ssa.Value) cond { return cond{op: token.EQL, x: v, konst: "nil"} }

func boolConst(v ssa.Value) (value, ok bool) {
	k, ok := v.(*ssa.Const)
	if !ok || k.Value == nil || k.Value.Kind() != constant.Bool {
		return false, false
	}
	return constant.BoolVal(k.Value), true
}

func isNil(v ssa.Value) bool {
	k, ok := v.(*ssa.Const)
	return ok && k.IsNil()
}

func constInt(i int) string { return strconv.Itoa(i) }

func selectCond(index ssa.Value, i int) cond {
	return cond{op: token.EQL, x: index, konst: constInt(i)}
}
