package flow

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

func isByte(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.Uint8
}

// isBytes reports whether t is a slice of bytes, or of such slices.
func isBytes(t types.Type) bool {
	s, ok := t.Underlying().(*types.Slice)
	return ok && (isByte(s.Elem()) || isBytes(s.Elem()))
}

// isScalar reports whether t holds no memory at all; a string does, but nothing
// that can end.
func isScalar(t types.Type) bool {
	_, ok := t.Underlying().(*types.Basic)
	return ok
}

func isPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

func isUnsafe(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.UnsafePointer
}

var errorType = types.Universe.Lookup("error").Type()

func isError(t types.Type) bool { return types.Identical(t, errorType) }

func elem(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// exported reports whether the field that in selects is exported.
func exported(t types.Type, in ssa.Instruction) bool {
	i := 0
	switch in := in.(type) {
	case *ssa.Field:
		i = in.Field
	case *ssa.FieldAddr:
		i = in.Field
	}
	s, ok := elem(t).Underlying().(*types.Struct)
	return ok && i < s.NumFields() && s.Field(i).Exported()
}
