//go:build !race

package policy

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"
)

// A mem.Buf stands for one reference, and a second variable with the same
// value is a second chance to release it. In the library, outside tests, these
// are therefore faults:
//
//   - an assignment or a declaration whose right side is a place (a variable,
//     a field, an element of a slice or an array, *p) of a type that holds a
//     Buf: a := b, s.buf = b, var a = *p, m[k] = list[0];
//   - a range over a slice or an array whose elements hold a Buf, with a value
//     variable: range over the index and use the element in place.
//
// A type holds a Buf when it is mem.Buf, or a struct or an array that has one
// in it, not behind a pointer. Assigning to _ copies nothing. Values that a
// call, a conversion, a literal, a channel or an iterator gives are new and
// may be assigned.
//
// Not looked at are the hand-overs: arguments, results, elements of composite
// literals, sends, receivers, copy and append. There the words of the
// function's comment decide (borrowed, retained, transferred). Nor is what
// comes out of a map, whose elements cannot be used in place.
//
// An assignment that moves the reference, after which the source is
// overwritten, emptied or never used again, ends in the comment //sluice:moved.
const movedComment = "//sluice:moved"

// platforms are chosen so that every file of the library is looked at.
var platforms = []platform{
	{goos: "linux"},
	{goos: "linux", tags: []string{"invariants"}},
	{goos: "darwin"}, // what is for systems beside Unix touches no Buf
}

// bufCopies finds the copies in one checked package.
func bufCopies(fset *token.FileSet, c *checked) []string {
	var faults []string
	for _, file := range c.files {
		moved := movedLines(fset, file)
		fault := func(n ast.Node, what string, e ast.Expr) {
			pos := fset.Position(n.Pos())
			if !moved[pos.Line] {
				faults = append(faults, fmt.Sprintf("%s:%d: %s copies a mem.Buf (%s)",
					strings.TrimPrefix(filepath.ToSlash(pos.Filename), root+"/"), pos.Line, what, types.ExprString(e)))
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, right := range n.Rhs {
					if !isBlank(n.Lhs[i]) && copiesBuf(c.info, right) {
						fault(right, "assignment", right)
					}
				}
			case *ast.ValueSpec:
				for i, right := range n.Values {
					if !isBlank(n.Names[i]) && copiesBuf(c.info, right) {
						fault(right, "declaration", right)
					}
				}
			case *ast.RangeStmt:
				if n.Value != nil && !isBlank(n.Value) && holdsBuf(element(c.info.TypeOf(n.X))) {
					fault(n, "range by value", n.X)
				}
			}
			return true
		})
	}
	return faults
}

// movedLines are the lines that say that the reference moves.
func movedLines(fset *token.FileSet, file *ast.File) map[int]bool {
	lines := map[int]bool{}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if text, ok := strings.CutPrefix(comment.Text, movedComment); ok && (text == "" || text[0] == ' ') {
				lines[fset.Position(comment.Pos()).Line] = true
			}
		}
	}
	return lines
}

func isBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

// copiesBuf reports whether e, on a right side, is a place that goes on
// holding the Buf.
func copiesBuf(info *types.Info, e ast.Expr) bool {
	e = ast.Unparen(e)
	switch e := e.(type) {
	case *ast.Ident:
		if _, ok := info.ObjectOf(e).(*types.Var); !ok {
			return false
		}
	case *ast.SelectorExpr:
		if _, ok := info.ObjectOf(e.Sel).(*types.Var); !ok {
			return false
		}
	case *ast.IndexExpr:
		if t := info.TypeOf(e.X); t != nil {
			if _, ok := t.Underlying().(*types.Map); ok {
				return false
			}
		}
	case *ast.StarExpr:
	default:
		return false
	}
	return holdsBuf(info.TypeOf(e))
}

// element is the type of the value variable of a range over t, where that is
// a copy of something that stays.
func element(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	switch t := t.Underlying().(type) {
	case *types.Slice:
		return t.Elem()
	case *types.Array:
		return t.Elem()
	case *types.Pointer:
		if array, ok := t.Elem().Underlying().(*types.Array); ok {
			return array.Elem()
		}
	}
	return nil
}

func holdsBuf(t types.Type) bool {
	if t == nil {
		return false
	}
	if named, ok := types.Unalias(t).(*types.Named); ok {
		obj := named.Obj()
		if obj.Name() == "Buf" && obj.Pkg() != nil && obj.Pkg().Path() == module+"/mem" {
			return true
		}
	}
	switch t := t.Underlying().(type) {
	case *types.Struct:
		for field := range t.Fields() {
			if holdsBuf(field.Type()) {
				return true
			}
		}
	case *types.Array:
		return holdsBuf(t.Elem())
	}
	return false
}

func TestNoCopiesOfBufs(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range platforms {
		l := newLoader(t, p)
		mem, err := l.load("mem")
		if err != nil || len(mem.errs) > 0 || mem.pkg.Scope().Lookup("Buf") == nil {
			t.Fatalf("package mem cannot be checked for %v: %v", p, err)
		}
		for _, dir := range libraryPackages(t) {
			c, err := l.load(dir)
			if err != nil {
				t.Errorf("%v: %v", p, err)
				continue
			}
			if len(c.errs) > 0 {
				t.Errorf("%v: %s does not compile and is only looked at in part: %v", p, dir, c.errs[0])
			}
			for _, f := range bufCopies(l.fset, c) {
				if !seen[f] {
					seen[f] = true
					t.Errorf("%s; retain it, use it in place, or say %s", f, movedComment)
				}
			}
		}
	}
}
