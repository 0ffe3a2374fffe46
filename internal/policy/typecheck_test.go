//go:build !race

// The race detector has nothing to find in one goroutine that checks types.

package policy

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// Syntax trees and types stay until the tests end: to collect garbage often finds little.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// A platform is one choice of the files that are compiled together.
type platform struct {
	goos string
	tags []string
}

func (p platform) String() string {
	return strings.Join(append([]string{p.goos}, p.tags...), ",")
}

// A loader type-checks packages of the library from source, with the bodies
// of their functions.
type loader struct {
	fset *token.FileSet
	ctx  build.Context
	std  types.Importer
	pkgs map[string]*checked
}

// A checked package is correct when errs is empty.
type checked struct {
	pkg   *types.Package
	files []*ast.File
	info  *types.Info
	errs  []error
}

func newLoader(t *testing.T, p platform) *loader {
	ctx := build.Default
	ctx.GOOS, ctx.GOARCH, ctx.CgoEnabled, ctx.BuildTags = p.goos, "amd64", false, p.tags
	std := libraries[p.goos]
	if std == nil {
		std = importer.ForCompiler(positions, "gc", exports(t, p.goos))
		libraries[p.goos] = std
	}
	return &loader{positions, ctx, std, map[string]*checked{}}
}

// Other packages are read once for each system: they have no tags of ours.
var (
	positions = token.NewFileSet()
	libraries = map[string]types.Importer{}
)

// exports finds what the compiler wrote about the packages that the library imports,
// which takes an eighth of checking their source.
func exports(t *testing.T, goos string) importer.Lookup {
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{if .Export}}{{.ImportPath}} {{.Export}}{{end}}", "./...")
	list.Dir = root
	list.Env = append(os.Environ(), "GOOS="+goos, "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list -export for %s: %v", goos, err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, file, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			files[path] = file
		}
	}
	return func(path string) (io.ReadCloser, error) {
		if files[path] == "" {
			return nil, fmt.Errorf("no package %s", path)
		}
		return os.Open(files[path])
	}
}

// Import implements types.Importer.
func (l *loader) Import(imp string) (*types.Package, error) {
	if imp != module && !inTree(imp, module) {
		return l.std.Import(imp)
	}
	dir := strings.TrimPrefix(strings.TrimPrefix(imp, module), "/")
	if dir == "" {
		dir = "."
	}
	c, err := l.load(dir)
	if err != nil {
		return nil, err
	}
	return c.pkg, nil
}

// load checks the package in a directory of the library without its tests.
// What is wrong with its text ends up in errs.
func (l *loader) load(dir string) (*checked, error) {
	if c, ok := l.pkgs[dir]; ok {
		return c, nil
	}
	entries, err := os.ReadDir(filepath.Join(root, dir))
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		if ok, err := l.ctx.MatchFile(filepath.Join(root, dir), e.Name()); err != nil || !ok {
			continue
		}
		f, err := parser.ParseFile(l.fset, filepath.Join(root, dir, e.Name()), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no Go files in %s", dir)
	}
	imp := module
	if dir != "." {
		imp += "/" + dir
	}
	c := l.check(imp, files)
	l.pkgs[dir] = c
	return c, nil
}

func (l *loader) check(imp string, files []*ast.File) *checked {
	c := &checked{files: files, info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{},
		Defs:  map[*ast.Ident]types.Object{},
		Uses:  map[*ast.Ident]types.Object{},
	}}
	conf := types.Config{
		Importer: l,
		Sizes:    types.SizesFor("gc", "amd64"),
		Error:    func(err error) { c.errs = append(c.errs, err) },
	}
	c.pkg, _ = conf.Check(imp, l.fset, files, c.info)
	return c
}

// libraryPackages lists the directories of the library that hold more than
// tests.
func libraryPackages(t *testing.T) []string {
	var dirs []string
	for _, s := range librarySources(t) {
		if !s.isTest() && !slices.Contains(dirs, s.pkg()) {
			dirs = append(dirs, s.pkg())
		}
	}
	return dirs
}
