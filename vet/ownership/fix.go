package ownership

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"

	"github.com/sluice-go/sluice/vet/internal/flow"
)

// fixes returns the change that mends a finding, where one statement does.
func fixes(pass *analysis.Pass, f flow.Finding) []analysis.SuggestedFix {
	x := &fixer{pass: pass, f: f}
	for _, file := range pass.Files {
		if file.FileStart <= f.Pos && f.Pos <= file.FileEnd {
			x.file = file
		}
	}
	if x.file == nil {
		return nil
	}
	var message string
	var edits []analysis.TextEdit
	switch f.Category {
	case flow.Outlives, flow.ReturnedEnded:
		message, edits = "Copy the bytes", x.cloneInPlace()
	case flow.UseAfterEnd:
		message, edits = "Copy the bytes before they end", x.cloneBefore()
	case flow.UseAfterTransfer:
		message, edits = "Hand over a reference of its own", x.retain()
	case flow.NotReleased:
		message, edits = "Release it when the function returns", x.deferRelease()
	}
	if len(edits) == 0 {
		return nil
	}
	return []analysis.SuggestedFix{{Message: message, TextEdits: edits}}
}

type fixer struct {
	pass *analysis.Pass
	f    flow.Finding
	file *ast.File
}

// at returns the nodes around pos, the innermost first.
func (x *fixer) at(pos token.Pos) []ast.Node {
	path, _ := astutil.PathEnclosingInterval(x.file, pos, pos)
	return path
}

func (x *fixer) isBytes(e ast.Expr) bool {
	t := x.pass.TypesInfo.TypeOf(e)
	if t == nil {
		return false
	}
	s, ok := t.(*types.Slice)
	return ok && types.Identical(s.Elem(), types.Typ[types.Byte])
}

// cloneInPlace wraps the bytes that the faulty statement stores or returns.
func (x *fixer) cloneInPlace() []analysis.TextEdit {
	var list []ast.Expr
	for _, n := range x.at(x.f.Pos) {
		switch n := n.(type) {
		case *ast.AssignStmt:
			list = n.Rhs
		case *ast.ReturnStmt:
			list = n.Results
		case *ast.SendStmt:
			list = []ast.Expr{n.Value}
		case *ast.BlockStmt:
			return nil
		default:
			continue
		}
		break
	}
	var target ast.Expr
	for _, e := range list {
		if !x.isBytes(e) {
			continue
		}
		if target != nil {
			return nil // which of them?
		}
		target = e
	}
	if target == nil {
		return nil
	}
	return append(x.importBytes(),
		analysis.TextEdit{Pos: target.Pos(), End: target.Pos(), NewText: []byte("bytes.Clone(")},
		analysis.TextEdit{Pos: target.End(), End: target.End(), NewText: []byte(")")})
}

// cloneBefore copies the bytes before the statement that ends them, if it is
// between the borrowing and the use.
func (x *fixer) cloneBefore() []analysis.TextEdit {
	id := x.assigned()
	if id == nil || !x.isBytes(id) || x.f.From >= x.f.End || x.f.End >= x.f.Pos {
		return nil
	}
	stmt, _ := x.statement(x.f.End)
	if stmt == nil {
		return nil
	}
	return append(x.importBytes(), analysis.TextEdit{Pos: stmt.Pos(), End: stmt.Pos(), NewText: []byte(id.Name + " = bytes.Clone(" + id.Name + ")\n")})
}

// assigned is the variable that the source's first result is assigned to.
func (x *fixer) assigned() *ast.Ident {
	for _, n := range x.at(x.f.From) {
		switch n := n.(type) {
		case *ast.AssignStmt:
			i := max(x.f.Source.Result, 0)
			if len(n.Rhs) != 1 || i >= len(n.Lhs) {
				return nil
			}
			id, _ := n.Lhs[i].(*ast.Ident)
			if id == nil || id.Name == "_" {
				return nil
			}
			return id
		case *ast.BlockStmt:
			return nil
		}
	}
	return nil
}

// statement returns the statement of a list that contains pos, and the list.
func (x *fixer) statement(pos token.Pos) (ast.Stmt, []ast.Stmt) {
	path := x.at(pos)
	for i, n := range path {
		var list []ast.Stmt
		switch n := n.(type) {
		case *ast.BlockStmt:
			list = n.List
		case *ast.CaseClause:
			list = n.Body
		case *ast.CommClause:
			list = n.Body
		default:
			continue
		}
		if i == 0 {
			return nil, nil
		}
		stmt, _ := path[i-1].(ast.Stmt)
		return stmt, list
	}
	return nil, nil
}

// retain keeps a reference back where the one that was transferred is released
// afterwards: then there is one for each.
func (x *fixer) retain() []analysis.TextEdit {
	use, ok := x.f.Use.(ssa.CallInstruction)
	if !ok || use.Common().StaticCallee() == nil || use.Common().StaticCallee().Name() != "Release" {
		return nil
	}
	var target ast.Expr
	for _, n := range x.at(x.f.End) {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			continue
		}
		for _, arg := range call.Args {
			id, ok := arg.(*ast.Ident)
			if !ok {
				continue
			}
			if obj, _, _ := types.LookupFieldOrMethod(x.pass.TypesInfo.TypeOf(id), true, x.pass.Pkg, "Retain"); obj != nil {
				target = id
			}
		}
		break
	}
	if target == nil {
		return nil
	}
	return []analysis.TextEdit{{Pos: target.End(), End: target.End(), NewText: []byte(".Retain()")}}
}

// deferRelease releases at the end what no path does, after the check of the
// error that came with it.
func (x *fixer) deferRelease() []analysis.TextEdit {
	id := x.assigned()
	if id == nil || !x.f.Never || x.f.EndText != "" {
		return nil
	}
	if obj, _, _ := types.LookupFieldOrMethod(x.pass.TypesInfo.TypeOf(id), true, x.pass.Pkg, "Release"); obj == nil {
		return nil
	}
	stmt, list := x.statement(x.f.From)
	for i, s := range list {
		if s != stmt {
			continue
		}
		if i+1 < len(list) && checksError(list[i+1]) {
			s = list[i+1]
		}
		return []analysis.TextEdit{{Pos: s.End(), End: s.End(), NewText: []byte("\ndefer " + id.Name + ".Release()")}}
	}
	return nil
}

// checksError reports whether s is if err != nil.
func checksError(s ast.Stmt) bool {
	branch, ok := s.(*ast.IfStmt)
	if !ok {
		return false
	}
	test, ok := branch.Cond.(*ast.BinaryExpr)
	if !ok || test.Op != token.NEQ {
		return false
	}
	id, ok := test.Y.(*ast.Ident)
	return ok && id.Name == "nil"
}

// importBytes imports package bytes if the file does not.
func (x *fixer) importBytes() []analysis.TextEdit {
	for _, spec := range x.file.Imports {
		if spec.Path.Value == `"bytes"` && spec.Name == nil {
			return nil
		}
	}
	for _, decl := range x.file.Decls {
		if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.IMPORT && d.Lparen.IsValid() {
			return []analysis.TextEdit{{Pos: d.Lparen + 1, End: d.Lparen + 1, NewText: []byte("\n\t\"bytes\"")}}
		}
	}
	return []analysis.TextEdit{{Pos: x.file.Name.End(), End: x.file.Name.End(), NewText: []byte("\n\nimport \"bytes\"")}}
}
