package flow

import (
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A Place is memory under the name that code reaches it by: a value of the
// function and the way from there, as in c.conn*.r*. Two places with one name
// are one memory as long as nothing on the way is assigned; two names may still
// be one memory, which nothing here relies on.
type Place struct {
	Root ssa.Value
	Path string
}

func (p Place) then(path string) Place { return Place{p.Root, p.Path + path} }

// beneath reports whether p is q or a part of it, and the way from q to p.
func (p Place) beneath(q Place) (rest string, ok bool) {
	if p.Root != q.Root {
		return "", false
	}
	return cutPath(p.Path, q.Path)
}

// cutPath removes prefix from path if it ends between two steps.
func cutPath(path, prefix string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, prefix)
	if !ok || rest != "" && !strings.ContainsAny(rest[:1], ".*[#") {
		return "", false
	}
	return rest, true
}

const maxWay = 12 // steps that a place is followed for

func fieldName(t types.Type, i int) string {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	if s, ok := t.Underlying().(*types.Struct); ok && i < s.NumFields() {
		return s.Field(i).Name()
	}
	return "?"
}

// weak reports whether path leads to an element that is not distinguished from others.
func weak(path string) bool { return strings.Contains(path, "[]") }

// element is the step to an element: by its number in an array of the function's own all of
// whose elements are named by numbers, else the same for all.
func element(v *ssa.IndexAddr) string {
	k, ok := v.Index.(*ssa.Const)
	array, own := v.X.(*ssa.Alloc)
	if !ok || !own || array.Referrers() == nil {
		return "[]"
	}
	for _, r := range *array.Referrers() {
		switch r := r.(type) {
		case *ssa.IndexAddr:
			if _, ok := r.Index.(*ssa.Const); !ok {
				return "[]"
			}
		case *ssa.DebugRef:
		default:
			return "[]"
		}
	}
	return "[" + k.Value.ExactString() + "]"
}
