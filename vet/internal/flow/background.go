package flow

import (
	"strings"

	"golang.org/x/tools/go/ssa"
)

// background starts a goroutine that uses borrowed bytes. That is a fault unless
// the function waits for it before their end.
func (x *explorer) background(in ssa.Instruction, s *state) bool {
	if !x.waitsSomewhere() {
		x.outlives(in)
		return false
	}
	s.running = in
	return true
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
