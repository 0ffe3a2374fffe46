package policy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// most is how many exported names a package may have, with methods and fields:
// what a user has to read first.
var most = map[string]int{
	".":   75,
	"mem": 85,
}

// TestNames counts the exported names of the packages that everything else is
// made of.
func TestNames(t *testing.T) {
	for dir, limit := range most {
		names := exportedNames(t, filepath.Join(root, dir))
		t.Logf("%s: %d names", dir, len(names))
		if len(names) > limit {
			t.Errorf("%s exports %d names, at most %d:\n%s", dir, len(names), limit, strings.Join(names, "\n"))
		}
	}
}

// exportedNames returns what the package in dir exports, on any system:
// functions, types, constants, variables, and of exported types the methods,
// the fields and what an interface asks for.
func exportedNames(t *testing.T, dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, exportedOf(f)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// exportedOf returns what one file exports.
func exportedOf(f *ast.File) (names []string) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if name := funcName(d); name != "" {
				names = append(names, name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				names = append(names, specNames(s)...)
			}
		}
	}
	return names
}

// funcName returns the name of an exported function, or of a method of an
// exported type; otherwise "".
func funcName(d *ast.FuncDecl) string {
	if !d.Name.IsExported() {
		return ""
	}
	if d.Recv == nil {
		return d.Name.Name
	}
	of := d.Recv.List[0].Type
	for {
		switch x := of.(type) {
		case *ast.StarExpr:
			of = x.X
		case *ast.IndexExpr:
			of = x.X
		case *ast.Ident:
			if !x.IsExported() {
				return ""
			}
			return x.Name + "." + d.Name.Name
		default:
			return ""
		}
	}
}

// specNames returns what a type, constant or variable declares.
func specNames(s ast.Spec) (names []string) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		return exported("", s.Names)
	case *ast.TypeSpec:
		if !s.Name.IsExported() {
			return nil
		}
		names = append(names, s.Name.Name)
		var fields *ast.FieldList
		switch of := s.Type.(type) {
		case *ast.StructType:
			fields = of.Fields
		case *ast.InterfaceType:
			fields = of.Methods
		default:
			return names
		}
		for _, f := range fields.List {
			names = append(names, exported(s.Name.Name+".", f.Names)...)
		}
	}
	return names
}

func exported(before string, ids []*ast.Ident) (names []string) {
	for _, id := range ids {
		if id.IsExported() {
			names = append(names, before+id.Name)
		}
	}
	return names
}

// TestNamesAreCounted asks the counter itself.
func TestNamesAreCounted(t *testing.T) {
	const text = "package p\n" +
		"type T struct{ A, b int; C int }\n" +
		"type i struct{ X int }\n" +
		"type I interface{ M(); m() }\n" +
		"func (t *T) Do() {}\nfunc (t T) no() {}\nfunc (x i) Yes() {}\n" +
		"const K, l = 1, 2\nvar V int\nfunc F() {}\n"
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := exportedOf(f)
	slices.Sort(got)
	want := []string{"F", "I", "I.M", "K", "T", "T.A", "T.C", "T.Do", "V"}
	if !slices.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}
