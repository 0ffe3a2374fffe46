package flow

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// maxStates is how many states at one block are distinguished before the search is
// given up.
const maxStates = 64

func (x *explorer) run() {
	s := newState()
	if x.src.Start == nil {
		x.src.begin(s)
		x.walk(x.fn.Blocks[0], 0, s)
	} else {
		x.src.begin(s)
		b := x.src.Start.Block()
		x.before(b, s)
		i := slices.Index(b.Instrs, x.src.Start)
		x.walk(b, i+1, s)
	}
	for len(x.work) > 0 && !x.gaveUp {
		next := x.work[len(x.work)-1]
		x.work = x.work[:len(x.work)-1]
		x.walk(next.block, 0, next.state.clone())
	}
}

// before enters what is certain before the source: what was deferred, and which way the
// conditions went that lead there.
func (x *explorer) before(start *ssa.BasicBlock, s *state) {
	var blocks []*ssa.BasicBlock
	for b := start; b != nil; b = b.Idom() {
		blocks = append(blocks, b)
	}
	for _, b := range slices.Backward(blocks) {
		ledBy(b, s)
		for _, in := range b.Instrs {
			if in == x.src.Start {
				return
			}
			if d, ok := in.(*ssa.Defer); ok {
				x.deferred(d, s)
			}
		}
	}
}

// ledBy enters the condition that b is an arm of. It still holds wherever b dominates.
func ledBy(b *ssa.BasicBlock, s *state) {
	if len(b.Preds) != 1 {
		return
	}
	from := b.Preds[0]
	if last, ok := from.Instrs[len(from.Instrs)-1].(*ssa.If); ok {
		c, negated := condition(last.Cond)
		s.conds[c] = (b == from.Succs[0]) != negated
	}
}

// walk runs the instructions of b from i on, and goes on to what follows. It changes s.
func (x *explorer) walk(b *ssa.BasicBlock, i int, s *state) {
	for ; i < len(b.Instrs); i++ {
		in := b.Instrs[i]
		if _, ok := in.(*ssa.Phi); ok {
			continue // done on arrival
		}
		if sel, ok := in.(*ssa.Select); ok {
			for _, way := range x.selects(sel, s) {
				x.walk(b, i+1, way)
			}
			return
		}
		if !x.step(in, s) || len(s.holders) == 0 && len(s.defers) == 0 && s.status != Live {
			return
		}
	}
	last, _ := b.Instrs[len(b.Instrs)-1].(*ssa.If)
	for n, to := range b.Succs {
		way := s
		if n+1 < len(b.Succs) {
			way = s.clone()
		}
		if last == nil || x.branch(last.Cond, n == 0, way) {
			x.arrive(b, to, way)
		}
	}
}

// arrive enters a block from another one.
func (x *explorer) arrive(from, to *ssa.BasicBlock, s *state) {
	x.phis(from, to, s)
	for c := range s.conds {
		if !x.asked[to][c] {
			delete(s.conds, c)
		}
	}
	states := x.seen[to]
	if states == nil {
		states = map[string]*state{}
		x.seen[to] = states
	}
	key := s.key(x.ids)
	if old, ok := states[key]; ok {
		if old.meet(s.conds) {
			x.work = append(x.work, arrival{to, old})
		}
		return
	}
	if len(states) >= maxStates {
		x.gaveUp = true
		return
	}
	states[key] = s
	x.work = append(x.work, arrival{to, s})
}

// phis moves what the edge brings into the block's variables, all at once.
func (x *explorer) phis(from, to *ssa.BasicBlock, s *state) {
	edge := slices.Index(to.Preds, from)
	type move struct {
		phi   *ssa.Phi
		adds  map[string]rel
		conds map[cond]bool
	}
	var moves []move
	for _, in := range to.Instrs {
		phi, ok := in.(*ssa.Phi)
		if !ok {
			break
		}
		m := move{phi, map[string]rel{}, map[cond]bool{}}
		v := phi.Edges[edge]
		for h, r := range s.holders {
			if !h.cell && h.Root == v {
				m.adds[h.Path] = r
			}
		}
		x.phiConds(phi, v, s, m.conds)
		moves = append(moves, m)
	}
	for _, m := range moves {
		s.forget(m.phi)
	}
	for _, m := range moves {
		for path, r := range m.adds {
			s.holders[holder{Place{m.phi, path}, false}] = r
		}
		for c, v := range m.conds {
			s.conds[c] = v
		}
	}
}

// phiConds adds the known conditions of a variable that now has the value v.
func (x *explorer) phiConds(phi *ssa.Phi, v ssa.Value, s *state, conds map[cond]bool) {
	if b, ok := boolConst(v); ok {
		conds[cond{x: phi}] = b
		return
	}
	if k, ok := v.(*ssa.Const); ok {
		if k.IsNil() {
			conds[nilCond(phi)] = true
		}
		return
	}
	if known, ok := s.conds[cond{x: v}]; ok {
		conds[cond{x: phi}] = known
	}
	if known, ok := s.conds[nilCond(v)]; ok {
		conds[nilCond(phi)] = known
	} else if isError(phi.Type()) && freshError(v) {
		conds[nilCond(phi)] = false
	}
}
