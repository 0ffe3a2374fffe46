package policy

import (
	"go/ast"
	"slices"
	"testing"
)

const (
	mostLines  = 80 // of a function
	mostFields = 20 // of a struct
)

// wideStructs may have more than mostFields: by package and name, with the reason.
var wideStructs = map[string]string{
	"cmd/sluice/internal/relay/web.StreamInfo": "the keys of one flat JSON object of the API",
	"lab/internal/load.Result":                 "the keys of one JSON object, which reports read",
	"lab/internal/relay.Result":                "the figures of one window",
	"lab/internal/sink/consensus.node":         "the state of one Raft node, which one goroutine owns",
}

func TestFunctionsAreShort(t *testing.T) {
	for _, s := range allSources(t) {
		for _, f := range functions(s) {
			if f.size > mostLines {
				t.Errorf("%s:%d: %s has %d lines, at most %d: split it along what changes together", s.path, f.line, f.name, f.size, mostLines)
			}
		}
	}
}

func TestStructsAreNarrow(t *testing.T) {
	wide := map[string]bool{}
	for _, s := range allSources(t) {
		for _, d := range structs(s) {
			name := s.pkg() + "." + d.name
			if d.size <= mostFields {
				continue
			}
			wide[name] = true
			if wideStructs[name] == "" {
				t.Errorf("%s:%d: %s has %d fields, at most %d: split it along what changes together, or give a reason in wideStructs", s.path, d.line, d.name, d.size, mostFields)
			}
		}
	}
	for name := range wideStructs {
		if !wide[name] {
			t.Errorf("wideStructs has %s, which is not wide any more, or gone", name)
		}
	}
}

// A declaration is a function or a struct with its lines or fields.
type declaration struct {
	name       string
	line, size int
}

// functions are those of a file that is not a test, literals too, with the lines from func
// to the last brace.
func functions(s source) (list []declaration) {
	if s.isTest() {
		return nil
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		name := ""
		switch n := n.(type) {
		case *ast.FuncDecl:
			name = n.Name.Name
		case *ast.FuncLit:
			name = "func literal"
		default:
			return true
		}
		first := s.line(n.Pos())
		list = append(list, declaration{name, first, s.line(n.End()) - first + 1})
		return true
	})
	return list
}

// structs are the struct types with a name of a file that is not a test. An embedded field is one.
func structs(s source) (list []declaration) {
	if s.isTest() {
		return nil
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if t, ok := n.(*ast.TypeSpec); ok {
			if of, ok := t.Type.(*ast.StructType); ok {
				list = append(list, declaration{t.Name.Name, s.line(t.Pos()), of.Fields.NumFields()})
			}
		}
		return true
	})
	return list
}

func TestShapesAreMeasured(t *testing.T) {
	const text = "package p\n" +
		"type (\n\tT struct {\n\t\tA, b int\n\t\tE\n\t\tC struct{ D, F int }\n\t}\n\tI int\n)\n" +
		"func f() {\n\ttype in struct{ X int }\n}\n" +
		"func (t T) g() {}\n" +
		"var v = []func(){\n\tfunc() {\n\t},\n}\n"
	s := mustParse(t, "p/p.go", text)
	if got, want := functions(s), []declaration{{"f", 10, 3}, {"g", 13, 1}, {"func literal", 15, 2}}; !slices.Equal(got, want) {
		t.Errorf("functions %v, want %v", got, want)
	}
	if got, want := structs(s), []declaration{{"T", 3, 4}, {"in", 11, 1}}; !slices.Equal(got, want) {
		t.Errorf("structs %v, want %v", got, want)
	}
	if s := mustParse(t, "p/p_test.go", text); functions(s) != nil || structs(s) != nil {
		t.Error("a test is measured")
	}
}
