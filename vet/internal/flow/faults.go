package flow

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/sluice-go/sluice/vet/internal/effect"
)

// leak reports a reference that is not released on the way to in.
func (x *explorer) leak(in ssa.Instruction, s *state, how string) {
	for h, r := range s.holders {
		if r == isIt && weak(h.Path) {
			return // in a list, whose elements are not distinguished
		}
	}
	f := Finding{Category: NotReleased, Pos: x.src.Pos, End: ending(in), EndText: how, Use: x.src.Start, Ender: in, Value: x.src.Value}
	if x.src.Promised {
		f.Pos = position(in)
	}
	if !f.Pos.IsValid() {
		f.Pos = x.src.Pos
	}
	x.report(f)
}

// outlives reports that borrowed bytes are stored beyond their end.
func (x *explorer) outlives(in ssa.Instruction) {
	if x.src.Kind == View {
		x.kept = position(in)
		return
	}
	x.report(Finding{Category: Outlives, Pos: position(in), End: position(in), EndText: Where(in), Use: in, Value: x.src.Value})
}

// keeps reports that borrowed bytes are passed to a function which stores them.
func (x *explorer) keeps(in ssa.CallInstruction, e effect.Effect) {
	if x.src.Kind == View {
		x.kept = position(in)
		return
	}
	x.report(Finding{Category: Outlives, Pos: position(in), End: position(in), EndText: text(in) + ", which keeps them" + e.Where, Use: in, Value: x.src.Value})
}

// Where names the place that something is stored in.
func Where(in ssa.Instruction) string {
	switch in := in.(type) {
	case *ssa.Go:
		return "a goroutine"
	case *ssa.Send, *ssa.Select:
		return "a channel"
	case *ssa.MapUpdate:
		return "a map"
	case *ssa.Store:
		switch addr := in.Addr.(type) {
		case *ssa.Global:
			return "the global " + addr.Name()
		case *ssa.FieldAddr:
			return "the field " + fieldName(addr.X.Type(), addr.Field)
		case *ssa.FreeVar:
			return "the captured variable " + addr.Name()
		}
		return "memory that is there afterwards"
	case ssa.CallInstruction:
		if !slices.ContainsFunc(operands(in.Common()), isClosure) {
			return text(in) + ", which keeps them"
		}
		return text(in) + ", which runs later"
	}
	return "something"
}

// copied reports that one reference is stored twice, or stored and then released.
func (x *explorer) copied(in ssa.Instruction, s *state) {
	x.report(Finding{Category: Copied, Pos: position(in), End: position(s.at), EndText: text(s.at), Use: in, Ender: s.at, Value: x.src.Value})
}

// touch is a use of v.
func (x *explorer) touch(in ssa.Instruction, v ssa.Value, s *state) {
	r, ok := x.related(v, s)
	if !ok {
		return
	}
	if r == stale {
		x.report(Finding{Category: UseAfterEnd, Pos: position(in), End: position(s.moved), EndText: text(s.moved), Use: in, Ender: s.moved, Value: v})
		return
	}
	f := Finding{Pos: position(in), End: position(s.at), EndText: text(s.at), Use: in, Ender: s.at, Value: v}
	if !f.Pos.IsValid() {
		f.Pos = v.Pos()
	}
	switch s.status {
	case Ended:
		f.Category = UseAfterEnd
	case Released:
		f.Category = UseAfterRelease
	case Given:
		f.Category = UseAfterTransfer
	default:
		return
	}
	x.report(f)
}

// report notes a fault once.
func (x *explorer) report(f Finding) {
	if !f.Pos.IsValid() {
		return
	}
	f.Source = x.src
	f.From, f.FromText = x.src.Pos, x.src.Text
	x.found = append(x.found, f)
}
