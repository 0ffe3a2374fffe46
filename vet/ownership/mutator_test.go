package ownership_test

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/sluice-go/sluice/vet/internal/driver"
	"github.com/sluice-go/sluice/vet/internal/effect"
	"github.com/sluice-go/sluice/vet/internal/models"
)

// A mutant is one fault put into correct code.
type mutant struct {
	kind string
	pkg  *packages.Package
	file string
	line int
	text []byte
}

// mutator makes the mutants of one file: it changes the tree, prints it and
// changes it back.
type mutator struct {
	p    *driver.Program
	pkg  *packages.Package
	file *ast.File
	list []mutant
}

// owners are the packages that are made of the reference counts themselves:
// what is a fault elsewhere is their trade.
var owners = []string{"/mem", "/bytepool", "/internal/window"}

func mutants(p *driver.Program) []mutant {
	var list []mutant
	for _, pkg := range p.Packages {
		if slices.ContainsFunc(owners, func(s string) bool { return strings.HasSuffix(pkg.PkgPath, s) }) {
			continue
		}
		for _, f := range pkg.Syntax {
			m := &mutator{p: p, pkg: pkg, file: f}
			m.run()
			list = append(list, m.list...)
		}
	}
	return list
}

func (m *mutator) run() {
	ast.Inspect(m.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			m.block(&n.List)
		case *ast.CaseClause:
			m.block(&n.Body)
		case *ast.CommClause:
			m.block(&n.Body)
		}
		return true
	})
}

// block tries each statement of a list.
func (m *mutator) block(list *[]ast.Stmt) {
	for i, s := range *list {
		if x := m.releases(s); x != nil && !m.inField(x) {
			m.replace("release left out", list, i, s.Pos(), &ast.EmptyStmt{})
			if _, deferred := s.(*ast.DeferStmt); !deferred {
				m.replace("released twice", list, i, s.Pos(), s, s)
				if u := m.use(x); u != nil {
					m.replace("used after release", list, i, s.Pos(), s, u)
				}
			}
		}
		if x := m.transfers(s); x != nil && !m.inField(x) {
			if u := m.use(x); u != nil && !isReturn(s) {
				m.replace("used after transfer", list, i, s.Pos(), s, u)
			}
			release := &ast.DeferStmt{Call: &ast.CallExpr{Fun: &ast.SelectorExpr{X: x, Sel: ast.NewIdent("Release")}}}
			m.replace("transferred and released", list, i, s.Pos(), release, s)
		}
		if r := m.borrows(*list, i); r != nil {
			at := m.firstUse(*list, i)
			if at > 0 {
				read := &ast.ExprStmt{X: &ast.CallExpr{Fun: &ast.SelectorExpr{X: r, Sel: ast.NewIdent("ReadByte")}}}
				m.replace("a read before the use", list, at, s.Pos(), read, (*list)[at])
			}
		}
	}
}

// replace notes a mutant with other statements in the place of one.
func (m *mutator) replace(kind string, list *[]ast.Stmt, i int, pos token.Pos, with ...ast.Stmt) {
	saved := *list
	defer func() { *list = saved }()
	*list = slices.Concat(saved[:i], with, saved[i+1:])
	comments := m.file.Comments
	m.file.Comments = nil // printed in the wrong places of a changed tree
	defer func() { m.file.Comments = comments }()
	var b bytes.Buffer
	if err := format.Node(&b, m.p.Fset, m.file); err != nil {
		return
	}
	at := m.p.Fset.Position(pos)
	m.list = append(m.list, mutant{kind, m.pkg, at.Filename, at.Line, b.Bytes()})
}

// use is a statement that looks at the bytes of x, nil when that is not simple.
func (m *mutator) use(x ast.Expr) ast.Stmt {
	t := m.pkg.TypesInfo.TypeOf(x)
	if obj, _, _ := types.LookupFieldOrMethod(t, true, m.pkg.Types, "Payload"); obj != nil {
		x = &ast.SelectorExpr{X: x, Sel: ast.NewIdent("Payload")}
	} else if obj, _, _ := types.LookupFieldOrMethod(t, true, m.pkg.Types, "Bytes"); obj == nil {
		return nil
	}
	call := &ast.CallExpr{Fun: &ast.SelectorExpr{X: x, Sel: ast.NewIdent("Bytes")}}
	return &ast.AssignStmt{Lhs: []ast.Expr{ast.NewIdent("_")}, Tok: token.ASSIGN, Rhs: []ast.Expr{call}}
}

func isReturn(s ast.Stmt) bool {
	_, ok := s.(*ast.ReturnStmt)
	return ok
}

// releases returns the variable that a statement releases.
func (m *mutator) releases(s ast.Stmt) ast.Expr {
	var call *ast.CallExpr
	switch s := s.(type) {
	case *ast.ExprStmt:
		call, _ = s.X.(*ast.CallExpr)
	case *ast.DeferStmt:
		call = s.Call
	}
	if call == nil {
		return nil
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Release" {
		return nil
	}
	f, ok := m.pkg.TypesInfo.Uses[sel.Sel].(*types.Func)
	if !ok {
		return nil
	}
	effects, _ := table.Func(f)
	if !slices.ContainsFunc(effects, func(e effect.Effect) bool { return e.Kind == effect.Released }) {
		return nil
	}
	return sel.X
}

var table = models.Default()

// inField reports whether x is a part of something that lives on: who releases
// that is not to be seen in one function.
func (m *mutator) inField(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return false
	case *ast.SelectorExpr:
		id, ok := x.X.(*ast.Ident)
		if !ok {
			return true
		}
		v, ok := m.pkg.TypesInfo.Uses[id].(*types.Var)
		if !ok {
			return true
		}
		_, pointer := v.Type().Underlying().(*types.Pointer)
		return pointer
	}
	return true
}

// transfers returns the variable that a statement hands over.
func (m *mutator) transfers(s ast.Stmt) ast.Expr {
	switch s.(type) {
	case *ast.ExprStmt, *ast.AssignStmt, *ast.ReturnStmt, *ast.IfStmt:
	default:
		return nil
	}
	var found ast.Expr
	ast.Inspect(s, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			switch n.(type) {
			case *ast.FuncLit, *ast.BlockStmt:
				return false
			}
			return true
		}
		var id *ast.Ident
		switch f := call.Fun.(type) {
		case *ast.SelectorExpr:
			id = f.Sel
		case *ast.Ident:
			id = f
		default:
			return true
		}
		f, ok := m.pkg.TypesInfo.Uses[id].(*types.Func)
		if !ok {
			return true
		}
		effects, _ := table.Func(f)
		for _, e := range effects {
			if e.Kind == effect.Transferred && e.Operand >= 0 && e.Operand < len(call.Args) {
				if id, ok := call.Args[e.Operand].(*ast.Ident); ok {
					found = id
				}
			}
		}
		return true
	})
	return found
}

// borrows returns the reader that statement i borrows from, with a check of its
// error behind it.
func (m *mutator) borrows(list []ast.Stmt, i int) ast.Expr {
	as, ok := list[i].(*ast.AssignStmt)
	if !ok || len(as.Rhs) != 1 || len(as.Lhs) == 0 {
		return nil
	}
	if id, ok := as.Lhs[0].(*ast.Ident); !ok || id.Name == "_" {
		return nil
	}
	call, ok := as.Rhs[0].(*ast.CallExpr)
	if !ok {
		return nil
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	f, ok := m.pkg.TypesInfo.Uses[sel.Sel].(*types.Func)
	if !ok {
		return nil
	}
	effects, _ := table.Func(f)
	for _, e := range effects {
		recv := f.Signature().Recv()
		if e.Kind == effect.Borrowed && recv != nil {
			obj, _, _ := types.LookupFieldOrMethod(recv.Type(), true, m.pkg.Types, "ReadByte")
			read, ok := obj.(*types.Func)
			if !ok {
				continue
			}
			what, _ := table.Func(read)
			if slices.ContainsFunc(what, func(e effect.Effect) bool { return e.Kind == effect.Ends }) {
				return sel.X
			}
		}
	}
	return nil
}

// firstUse is the statement after i, and after the check of the error, that
// looks at what was borrowed; 0 when there is none in the list.
func (m *mutator) firstUse(list []ast.Stmt, i int) int {
	id := list[i].(*ast.AssignStmt).Lhs[0].(*ast.Ident)
	obj := m.pkg.TypesInfo.ObjectOf(id)
	for j := i + 1; j < len(list); j++ {
		if m.looksAt(list[j], obj) {
			return j
		}
		if m.assigns(list[j], obj) {
			return 0
		}
	}
	return 0
}

// looksAt reports whether the bytes of obj are used in s, not just its length.
func (m *mutator) looksAt(s ast.Stmt, obj types.Object) bool {
	looks := false
	var skip []ast.Node
	ast.Inspect(s, func(n ast.Node) bool {
		if slices.Contains(skip, n) {
			return false
		}
		switch n := n.(type) {
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "len" || f.Name == "cap") {
				return false
			}
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				if id, ok := l.(*ast.Ident); ok && m.pkg.TypesInfo.ObjectOf(id) == obj {
					skip = append(skip, l)
				}
			}
		case *ast.Ident:
			looks = looks || m.pkg.TypesInfo.Uses[n] == obj
		}
		return true
	})
	return looks
}

func (m *mutator) assigns(s ast.Stmt, obj types.Object) bool {
	found := false
	ast.Inspect(s, func(n ast.Node) bool {
		if as, ok := n.(*ast.AssignStmt); ok {
			for _, l := range as.Lhs {
				if id, ok := l.(*ast.Ident); ok && m.pkg.TypesInfo.ObjectOf(id) == obj {
					found = true
				}
			}
		}
		return true
	})
	return found
}
