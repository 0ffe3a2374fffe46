//go:build !race

package policy

import (
	"go/ast"
	"go/parser"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// readmeImports are the packages that a Go block of the README may name; each
// is imported if the block uses it.
var readmeImports = map[string]string{
	"binary": "encoding/binary",
	"io":     "io",
	"net":    "net",
	"mem":    module + "/mem",
	"sluice": module,
}

// importsOf returns the import declarations for the packages that are named
// before a dot in s.
func importsOf(s source) string {
	var text string
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok {
				decl := "import \"" + readmeImports[x.Name] + "\"\n"
				if readmeImports[x.Name] != "" && !strings.Contains(text, decl) {
					text += decl
				}
			}
		}
		return true
	})
	return text
}

func TestReadmeExamplesCompile(t *testing.T) {
	l := newLoader(t, platform{goos: "linux"})
	for _, dir := range []string{"mem", "."} {
		if c, err := l.load(dir); err != nil || len(c.errs) > 0 {
			t.Skipf("package %s does not compile, let alone an example of its use: %v", dir, err)
		}
	}
	readme, err := os.ReadFile(filepath.Join(root, readmes[0]))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := parseMarkdown(string(readme))
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	for _, block := range doc.blocks {
		code, isGo := strings.CutPrefix(block, "```go\n")
		if !isGo {
			continue
		}
		examples++
		code = strings.TrimSuffix(strings.TrimSpace(code), "```")
		text := "package example\n" + importsOf(mustParse(t, readmes[0], "package example\n"+code)) + code
		file, err := parser.ParseFile(l.fset, readmes[0], text, parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("%v in\n%s", err, code)
			continue
		}
		for _, err := range l.check("example", []*ast.File{file}).errs {
			t.Errorf("%v in\n%s", err, code)
		}
	}
	if examples == 0 {
		t.Errorf("%s shows no Go", readmes[0])
	}
}
