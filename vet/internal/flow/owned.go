package flow

import (
	"go/types"

	"github.com/sluice-go/sluice/vet/internal/models"
)

// owned reports whether a value of type t stands for one reference that has to
// be released: a type of the table, a pointer to one, or a struct with just
// one of them in it, as a message with its payload. A pointer to such a struct is
// an object with a life of its own, of which the reference is only a part.
func (a *Analysis) owned(t types.Type) bool {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		k := a.Models.Type(p.Elem())
		return k == models.Owned || k == models.Single
	}
	return a.references(t, 3) == 1
}

// references counts the references in a value of type t.
func (a *Analysis) references(t types.Type, n int) int {
	if k := a.Models.Type(t); k == models.Owned || k == models.Single {
		return 1
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		if a.Models.Type(p.Elem()) == models.Single {
			return 1
		}
		return 0
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok || n == 0 {
		return 0
	}
	sum := 0
	for f := range s.Fields() {
		sum += a.references(f.Type(), n-1)
	}
	return sum
}

// carrier reports whether a value of type t can be a view of bytes: a slice of
// them, or something that holds one. What is owned counts for itself, and an
// interface says nothing.
func (a *Analysis) carrier(t types.Type) bool { return a.carrierN(t, 3) }

func (a *Analysis) carrierN(t types.Type, n int) bool {
	if k := a.Models.Type(t); k == models.Owned || k == models.Single || n < 0 {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return isByte(u.Elem()) || a.carrierN(u.Elem(), n-1)
	case *types.Array:
		return a.carrierN(u.Elem(), n-1)
	case *types.Pointer:
		return isByte(u.Elem()) || a.carrierN(u.Elem(), n-1)
	case *types.Struct:
		for f := range u.Fields() {
			if a.carrierN(f.Type(), n-1) {
				return true
			}
		}
	}
	return false
}
