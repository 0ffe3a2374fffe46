package flow

import (
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// background starts a goroutine that uses borrowed bytes. That is a fault unless
// the function waits for it before their end.
func (x *explorer) background(in ssa.Instruction, s *state) bool {
	if started, ok := in.(*ssa.Go); ok && x.receivesFrom(started) {
		return true
	}
	if !x.waitsSomewhere() {
		x.outlives(in)
		return false
	}
	s.running = in
	return true
}

// lendsTo notes that in, a go statement or a send, hands bytes of a reference to another
// goroutine, unless the function seems to wait for that before it goes on.
func (x *explorer) lendsTo(in ssa.Instruction, s *state) {
	if s.running == nil && !x.waitsSomewhere() && !x.receives() {
		s.running = in
	}
}

// leftBehind reports bytes that are where they are used after their reference was released.
func (x *explorer) leftBehind(in, end ssa.Instruction) {
	x.report(Finding{Category: Outlives, Pos: position(in), End: position(end), EndText: text(end), Use: in, Ender: end, Value: x.src.Value})
}

// receives reports whether the function receives from any channel.
func (x *explorer) receives() bool {
	for _, b := range x.fn.Blocks {
		for _, in := range b.Instrs {
			switch in := in.(type) {
			case *ssa.UnOp:
				if in.Op == token.ARROW {
					return true
				}
			case *ssa.Select:
				for _, st := range in.States {
					if st.Dir == types.RecvOnly {
						return true
					}
				}
			}
		}
	}
	return false
}

// receivesFrom reports whether the function receives from a channel that it shares with
// the goroutine: that is taken for waiting, though it may give up waiting.
func (x *explorer) receivesFrom(started *ssa.Go) bool {
	shared := map[ssa.Value]bool{}
	for _, v := range operands(&started.Call) {
		shared[x.point(v).Root] = true
		shared[x.at(v, "*").Root] = true
	}
	for _, b := range x.fn.Blocks {
		for _, in := range b.Instrs {
			switch in := in.(type) {
			case *ssa.UnOp:
				if in.Op == token.ARROW && shared[x.point(in.X).Root] {
					return true
				}
			case *ssa.Select:
				for _, st := range in.States {
					if st.Dir == types.RecvOnly && shared[x.point(st.Chan).Root] {
						return true
					}
				}
			}
		}
	}
	return false
}

func (x *explorer) waitsSomewhere() bool {
	for _, b := range x.fn.Blocks {
		for _, in := range b.Instrs {
			if c, ok := in.(ssa.CallInstruction); ok && waits(c.Common()) {
				return true
			}
		}
	}
	return false
}

// waits reports whether a call is Wait of a sync.WaitGroup or an errgroup.Group.
func waits(c *ssa.CallCommon) bool {
	callee := c.StaticCallee()
	if callee == nil || callee.Name() != "Wait" || callee.Object() == nil || callee.Object().Pkg() == nil {
		return false
	}
	path := callee.Object().Pkg().Path()
	return path == "sync" || strings.HasSuffix(path, "/errgroup")
}
