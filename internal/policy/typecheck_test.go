//go:build !race

// Type checking the standard library from source takes a second, and six of
// them under the race detector, which has nothing to find in it.

package policy

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
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
	// The importer reads build.Default. Without cgo it needs no C compiler.
	saved := build.Default
	t.Cleanup(func() { build.Default = saved })
	build.Default.GOOS = p.goos
	build.Default.GOARCH = "amd64"
	build.Default.CgoEnabled = false
	build.Default.BuildTags = p.tags
	// Without it runtime.GOROOT is empty under -trimpath.
	if root, err := exec.Command("go", "env", "GOROOT").Output(); err == nil {
		build.Default.GOROOT = strings.TrimSpace(string(root))
	}
	std := libraries[p.goos]
	if std == nil {
		std = importer.ForCompiler(positions, "source", nil)
		libraries[p.goos] = std
	}
	return &loader{positions, build.Default, std, map[string]*checked{}}
}

// The standard library is read once for each system: it has no tags of ours.
var (
	positions = token.NewFileSet()
	libraries = map[string]types.Importer{}
)

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
