package policy

import (
	"go/ast"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// longCommand is a line of make long: the tests that it runs, and the folder.
var longCommand = regexp.MustCompile(`(?m)^\tSLUICE_LONG=1 go test .*-run (?:"([^"]+)"|(\S+)) \./(\S+)$`)

// A test that skips itself without SLUICE_LONG runs in make long and nowhere else, so a
// pattern there has to name it.
func TestMakeLongHasAllLongTests(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string][]*regexp.Regexp{}
	for _, m := range longCommand.FindAllStringSubmatch(string(makefile), -1) {
		runs[m[3]] = append(runs[m[3]], regexp.MustCompile(m[1]+m[2]))
	}
	packages := map[string][]*ast.FuncDecl{}
	for _, s := range allSources(t) {
		if s.isTest() {
			packages[s.pkg()] = append(packages[s.pkg()], longAskers(s)...)
		}
	}
	found := 0
	for dir, askers := range packages {
		for _, f := range askers {
			if !strings.HasPrefix(f.Name.Name, "Test") {
				continue
			}
			found++
			if !slices.ContainsFunc(runs[dir], func(r *regexp.Regexp) bool { return r.MatchString(f.Name.Name) }) {
				t.Errorf("%s: %s needs SLUICE_LONG, and make long does not run it", dir, f.Name.Name)
			}
		}
	}
	if found < 20 {
		t.Errorf("%d tests that need SLUICE_LONG were found, which are too few", found)
	}
}

// longAskers are the functions of a file that look at SLUICE_LONG or call a helper
// which skips without it.
func longAskers(s source) []*ast.FuncDecl {
	var askers []*ast.FuncDecl
	for _, d := range s.file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		asks := false
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				asks = asks || n.Value == `"SLUICE_LONG"`
			case *ast.CallExpr:
				name, ok := n.Fun.(*ast.Ident)
				asks = asks || ok && (name.Name == "long" || name.Name == "onlyLong")
			}
			return !asks
		})
		if asks {
			askers = append(askers, f)
		}
	}
	return askers
}
