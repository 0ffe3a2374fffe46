//go:build !race

package policy

import (
	"go/ast"
	"go/parser"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pagesRun are the pages whose Go also stands, word for word, in test files that
// run it.
var pagesRun = map[string][]string{
	"docs/library/recipes.md":  {"docs_example_test.go", "docs_aio_example_test.go"},
	"docs/migrating/README.md": {"docs_migrating_example_test.go"},
}

// exampleImports are the packages that a Go block may name; each is imported
// if the block uses it.
var exampleImports = map[string]string{
	"binary":     "encoding/binary",
	"json":       "encoding/json",
	"bufio":      "bufio",
	"bytes":      "bytes",
	"context":    "context",
	"errors":     "errors",
	"fmt":        "fmt",
	"http":       "net/http",
	"io":         "io",
	"log":        "log",
	"net":        "net",
	"os":         "os",
	"pprof":      "net/http/pprof",
	"strings":    "strings",
	"sync":       "sync",
	"syscall":    "syscall",
	"testing":    "testing",
	"time":       "time",
	"tls":        "crypto/tls",
	"aio":        module + "/aio",
	"mem":        module + "/mem",
	"sluice":     module,
	"sluicetest": module + "/sluicetest",
}

// importsOf returns the import declarations for the packages that are named
// before a dot in s.
func importsOf(s source) string {
	var text string
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok {
				decl := "import \"" + exampleImports[x.Name] + "\"\n"
				if exampleImports[x.Name] != "" && !strings.Contains(text, decl) {
					text += decl
				}
			}
		}
		return true
	})
	return text
}

var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// goBlocks returns the Go of a page, block by block.
func goBlocks(t *testing.T, name string) []string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	var code []string
	for _, m := range goBlock.FindAllStringSubmatch(string(page), -1) {
		code = append(code, m[1])
	}
	return code
}

// exampleFaults says what keeps a block from compiling.
func exampleFaults(t *testing.T, l *loader, name, code string) []error {
	s, err := parseSource(name, []byte("package example\n"+code))
	if err != nil {
		return []error{err}
	}
	text := "package example\n" + importsOf(s) + code
	file, err := parser.ParseFile(l.fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return []error{err}
	}
	return l.check("example", []*ast.File{file}).errs
}

// exampleLoader loads what examples use.
func exampleLoader(t *testing.T) *loader {
	t.Helper()
	l := newLoader(t, platform{goos: "linux"})
	for _, dir := range []string{"mem", ".", "aio", "sluicetest"} {
		if c, err := l.load(dir); err != nil || len(c.errs) > 0 {
			t.Fatalf("package %s does not compile, let alone an example of its use: %v", dir, err)
		}
	}
	return l
}

func TestExamplesOnPagesCompile(t *testing.T) {
	l := exampleLoader(t)
	examples := 0
	for _, name := range pages(t) {
		for _, code := range goBlocks(t, name) {
			examples++
			for _, err := range exampleFaults(t, l, name, code) {
				t.Errorf("%s: %v in\n%s", name, err, code)
			}
		}
	}
	if examples < 10 {
		t.Errorf("%d blocks of Go on all pages", examples)
	}
}

func TestExampleRuleBites(t *testing.T) {
	l := exampleLoader(t)
	for _, c := range []struct {
		code   string
		faults int
	}{
		{"func f(r *sluice.BufReader) (mem.Buf, error) { return r.ReadBuf(3) }", 0},
		{"func f(r *sluice.BufReader) { r.ReadBug(3) }", 1},
		{"func f(t *testing.T) { sluicetest.NoLeaks(t, nil) }", 0},
		{"r := sluice.NewBufReader(nil)", 1},
		{"func f() int { return math.MaxInt }", 1},
	} {
		if got := exampleFaults(t, l, "page.md", c.code); len(got) != c.faults {
			t.Errorf("%s: faults %v, want %d", c.code, got, c.faults)
		}
	}
}

func TestExamplesOnPagesAreRun(t *testing.T) {
	for page, files := range pagesRun {
		var run []byte
		for _, name := range files {
			text, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				t.Fatal(err)
			}
			run = append(run, text...)
		}
		for _, code := range goBlocks(t, page) {
			if !strings.Contains(string(run), code) {
				t.Errorf("%q do not have, word for word, what stands in %s:\n%s", files, page, code)
			}
		}
	}
}
