package driver

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"os"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"
)

func workers() int { return runtime.GOMAXPROCS(0) }

// Run runs the analyzer over the program and returns what it reports of the
// packages that were asked for, in the order of the source.
func (p *Program) Run(a *analysis.Analyzer) ([]analysis.Diagnostic, error) {
	var mu sync.Mutex
	var list []analysis.Diagnostic
	var errs []error
	p.eachInOrder(func(pkg *packages.Package) {
		found, err := p.analyze(a, pkg.Syntax, pkg.Types, pkg.TypesInfo, pkg.TypesSizes)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", pkg.PkgPath, err))
		}
		if slices.Contains(p.Packages, pkg) {
			list = append(list, found...)
		}
	})
	p.sort(list)
	return list, errors.Join(errs...)
}

func (p *Program) sort(list []analysis.Diagnostic) {
	slices.SortStableFunc(list, func(x, y analysis.Diagnostic) int {
		a, b := p.Fset.Position(x.Pos), p.Fset.Position(y.Pos)
		return cmp.Or(cmp.Compare(a.Filename, b.Filename), cmp.Compare(a.Offset, b.Offset), cmp.Compare(x.Message, y.Message))
	})
}

func (p *Program) analyze(a *analysis.Analyzer, files []*ast.File, pkg *types.Package, info *types.Info, sizes types.Sizes) ([]analysis.Diagnostic, error) {
	var list []analysis.Diagnostic
	pass := &analysis.Pass{
		Analyzer: a, Fset: p.Fset, Files: files, Pkg: pkg, TypesInfo: info, TypesSizes: sizes,
		Report:   func(d analysis.Diagnostic) { list = append(list, d) },
		ReadFile: os.ReadFile,
		ResultOf: map[*analysis.Analyzer]any{},
	}
	p.facts.connect(pass)
	_, err := a.Run(pass)
	return list, err
}

// RunChanged runs the analyzer over one package with other text in one of its
// files. The facts of the other packages stay as they are.
func (p *Program) RunChanged(a *analysis.Analyzer, pkg *packages.Package, name string, text []byte) ([]analysis.Diagnostic, error) {
	changed, err := parser.ParseFile(p.Fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	files := slices.Clone(pkg.Syntax)
	i := slices.IndexFunc(files, func(f *ast.File) bool { return p.Fset.File(f.FileStart).Name() == name })
	if i < 0 {
		return nil, fmt.Errorf("%s is not in %s", name, pkg.PkgPath)
	}
	files[i] = changed
	info := newInfo()
	c := types.Config{Importer: p.imported(pkg), Sizes: pkg.TypesSizes}
	if pkg.Module != nil && pkg.Module.GoVersion != "" {
		c.GoVersion = "go" + pkg.Module.GoVersion
	}
	typesPkg, err := c.Check(pkg.PkgPath, p.Fset, files, info)
	if err != nil {
		return nil, err
	}
	return p.analyze(a, files, typesPkg, info, pkg.TypesSizes)
}

// An importer finds packages that are there already.
type importer map[string]*types.Package

// imported is made of what pkg imports, and what other packages do: the change
// may import more than the text before it.
func (p *Program) imported(pkg *packages.Package) importer {
	m := importer{"unsafe": types.Unsafe}
	for _, other := range append(slices.Clone(p.Packages), pkg) {
		for _, imp := range other.Types.Imports() {
			if _, ok := m[imp.Path()]; !ok || other == pkg {
				m[imp.Path()] = imp
			}
		}
	}
	return m
}

func (m importer) Import(path string) (*types.Package, error) {
	if pkg, ok := m[path]; ok {
		return pkg, nil
	}
	return nil, fmt.Errorf("%s is not imported", path)
}
