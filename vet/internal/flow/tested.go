package flow

import (
	"golang.org/x/tools/go/ssa"
)

// testedIn returns the conditions of fn, which it works out once.
func (a *Analysis) testedIn(fn *ssa.Function) tested {
	t, ok := a.tested[fn]
	if !ok {
		t = findTested(fn)
		a.tested[fn] = t
	}
	return t
}

// findTested works from the tests backwards until nothing changes.
func findTested(fn *ssa.Function) tested {
	t := testsOf(fn)
	for changed := true; changed; {
		changed = false
		for i := len(fn.Blocks) - 1; i >= 0; i-- {
			b := fn.Blocks[i]
			for _, next := range b.Succs {
				for c := range t[next] {
					if !t[b][c] && !c.set(b, false) && !c.set(next, true) {
						t[b][c], changed = true, true
					}
				}
			}
		}
	}
	return t
}

// testsOf returns the conditions that each block itself asks for. Those of values
// that are set in the block are left out: nothing is known of them before.
func testsOf(fn *ssa.Function) tested {
	t := tested{}
	var buffered []cond // what onlyBuffered looks for
	for _, b := range fn.Blocks {
		t[b] = map[cond]bool{}
		if last, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If); ok {
			if c, _ := condition(last.Cond); methodName(c.x) == "Buffered" {
				buffered = append(buffered, c)
			}
		}
	}
	for _, b := range fn.Blocks {
		use := func(list ...cond) {
			for _, c := range list {
				if !c.set(b, false) {
					t[b][c] = true
				}
			}
		}
		for _, in := range b.Instrs {
			switch in := in.(type) {
			case *ssa.If:
				c, _ := condition(in.Cond)
				use(c)
			case *ssa.Return:
				if n := len(in.Results); n > 0 {
					use(nilCond(in.Results[n-1]))
				}
			case *ssa.Call:
				if methodName(in) == "Peek" {
					use(buffered...)
				}
			}
		}
		for _, next := range b.Succs {
			for v := range phiValues(b, next) {
				use(cond{x: v}, nilCond(v))
			}
		}
	}
	return t
}

// set reports whether a value of the condition is set in b: by one of its phis, or
// by another instruction.
func (c cond) set(b *ssa.BasicBlock, byPhi bool) bool {
	for _, v := range [...]ssa.Value{c.x, c.y} {
		in, ok := v.(ssa.Instruction)
		if !ok || in.Block() != b {
			continue
		}
		if _, phi := v.(*ssa.Phi); phi == byPhi {
			return true
		}
	}
	return false
}

// phiValues yields what the phis of to take over when from leads there.
func phiValues(from, to *ssa.BasicBlock) func(func(ssa.Value) bool) {
	return func(yield func(ssa.Value) bool) {
		for _, in := range to.Instrs {
			phi, ok := in.(*ssa.Phi)
			if !ok {
				return
			}
			for i, pred := range to.Preds {
				if pred == from && !yield(phi.Edges[i]) {
					return
				}
			}
		}
	}
}

// methodName is the name of the function that v is a static call of.
func methodName(v ssa.Value) string {
	if call, ok := v.(*ssa.Call); ok {
		if callee := call.Call.StaticCallee(); callee != nil {
			return callee.Name()
		}
	}
	return ""
}
