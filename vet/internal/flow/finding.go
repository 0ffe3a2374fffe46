package flow

import (
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// Category is the kind of a fault; its text is stable and appears in reports.
type Category string

const (
	UseAfterEnd      Category = "use-after-end"
	Outlives         Category = "outlives"
	ReturnedEnded    Category = "returned-ended"
	NotReleased      Category = "not-released"
	ReleasedTwice    Category = "released-twice"
	UseAfterRelease  Category = "use-after-release"
	UseAfterTransfer Category = "use-after-transfer"
	Copied           Category = "copied"
)

// A Finding is one fault: where it shows, where the memory came from and what
// ended its use.
type Finding struct {
	Category Category
	Pos      token.Pos
	Message  string
	From     token.Pos // where it was borrowed or taken
	FromText string
	End      token.Pos // what ended it, if anything has
	EndText  string

	Source *Source
	Use    ssa.Instruction
	Ender  ssa.Instruction
	Value  ssa.Value // what is used
	// Never: no path releases the reference or hands it on.
	Never bool
}

// position is the position of an instruction in the source; some instructions have none
// of their own.
func position(in ssa.Instruction) token.Pos {
	if in == nil {
		return token.NoPos
	}
	if pos := in.Pos(); pos.IsValid() {
		return pos
	}
	if c, ok := in.(ssa.CallInstruction); ok {
		if pos := c.Common().Pos(); pos.IsValid() {
			return pos
		}
	}
	for _, op := range in.Operands(nil) {
		if *op != nil {
			if v, ok := (*op).(ssa.Instruction); ok && (*op).Pos().IsValid() && v.Block() == in.Block() {
				return (*op).Pos()
			}
		}
	}
	return token.NoPos
}

// ending is position for the end of a path: where a function ends without a return
// statement, its closing brace.
func ending(in ssa.Instruction) token.Pos {
	pos := position(in)
	if _, ok := in.(*ssa.Return); ok && !pos.IsValid() && in.Parent().Syntax() != nil {
		return in.Parent().Syntax().End() - 1
	}
	return pos
}

// text names what an instruction calls, as people write it.
func text(in ssa.Instruction) string {
	switch in := in.(type) {
	case ssa.CallInstruction:
		return callText(in.Common())
	case *ssa.Send:
		return "the send"
	case *ssa.Select:
		return "the send"
	case *ssa.MapUpdate:
		return "the map"
	case *ssa.UnOp:
		return "the receive"
	case *ssa.Store:
		return "the assignment"
	}
	return "this"
}

func callText(c *ssa.CallCommon) string {
	if c.IsInvoke() {
		return typeName(c.Value.Type()) + "." + c.Method.Name()
	}
	callee := c.StaticCallee()
	switch {
	case callee == nil:
		return "the call"
	case callee.Parent() != nil:
		return "the function literal"
	}
	if recv := callee.Signature.Recv(); recv != nil {
		return typeName(recv.Type()) + "." + callee.Name()
	}
	if callee.Pkg != nil && callee.Pkg != c.StaticCallee().Prog.ImportedPackage("") {
		return callee.Pkg.Pkg.Name() + "." + callee.Name()
	}
	return callee.Name()
}

func typeName(t types.Type) string {
	s := types.TypeString(t, func(p *types.Package) string { return "" })
	return strings.TrimLeft(s, "*")
}

// Borrowed reports whether the memory was lent, not handed over.
func (f *Finding) Borrowed() bool {
	return f.Source.Kind == Borrow || f.Source.Kind == View || f.Source.Kind == Lent
}

// Noun is what the finding is about.
func (f *Finding) Noun() string {
	if f.Borrowed() {
		return "bytes"
	}
	return "reference"
}
