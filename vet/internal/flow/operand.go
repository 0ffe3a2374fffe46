package flow

import (
	"go/types"
	"slices"

	"github.com/sluice-go/sluice/vet/internal/effect"
	"golang.org/x/tools/go/ssa"
)

// operand returns the value that an effect's number stands for, nil when the
// call has none.
func operand(c *ssa.CallCommon, n int) ssa.Value {
	if n >= effect.FreeVars {
		if mc, ok := c.Value.(*ssa.MakeClosure); ok && n-effect.FreeVars < len(mc.Bindings) {
			return mc.Bindings[n-effect.FreeVars]
		}
		return nil
	}
	if c.IsInvoke() {
		if n == effect.Recv {
			return c.Value
		}
	} else if c.Signature().Recv() != nil {
		n++
	} else if fn := c.StaticCallee(); fn != nil && isMethod(fn.Object()) {
		// What SSA makes of a method value, which has captured the receiver, or of a
		// method expression, whose first argument it is.
		mc, value := c.Value.(*ssa.MakeClosure)
		switch {
		case !value:
			n++
		case n == effect.Recv && len(mc.Bindings) == 1:
			return mc.Bindings[0]
		}
	}
	if n < 0 || n >= len(c.Args) {
		return nil
	}
	return c.Args[n]
}

// operandOf is the number of the argument that v is.
func operandOf(c *ssa.CallCommon, v ssa.Value) int {
	for n := range c.Args {
		if operand(c, n) == v {
			return n
		}
	}
	return effect.None
}

func isMethod(obj types.Object) bool {
	fn, ok := obj.(*types.Func)
	return ok && fn.Signature().Recv() != nil
}

// operands are a call's receiver, arguments and, for a function literal, what
// it captures.
func operands(c *ssa.CallCommon) []ssa.Value {
	var list []ssa.Value
	if c.IsInvoke() {
		list = append(list, c.Value)
	}
	list = append(list, c.Args...)
	if mc, ok := c.Value.(*ssa.MakeClosure); ok {
		list = append(list, mc.Bindings...)
	}
	return list
}

func kindOf(effects []effect.Effect, c *ssa.CallCommon, v ssa.Value) effect.Kind {
	for _, e := range effects {
		if e.Path == "" && (e.Kind == effect.Released || e.Kind == effect.Transferred) && operand(c, e.Operand) == v {
			return e.Kind
		}
	}
	return 0
}

// hasAny reports whether any effect is about v.
func hasAny(effects []effect.Effect, c *ssa.CallCommon, v ssa.Value) bool {
	return slices.ContainsFunc(effects, func(e effect.Effect) bool { return operand(c, e.Operand) == v })
}

func paramNumber(p *ssa.Parameter) int {
	fn := p.Parent()
	for i, q := range fn.Params {
		if p == q {
			if fn.Signature.Recv() != nil {
				i--
			}
			return i
		}
	}
	return effect.None
}

func literal(v ssa.Value) *ssa.Function {
	switch v := v.(type) {
	case *ssa.Function:
		return v
	case *ssa.MakeClosure:
		return v.Fn.(*ssa.Function)
	case *ssa.ChangeType:
		return literal(v.X)
	}
	return nil
}
