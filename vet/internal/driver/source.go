package driver

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"slices"
	"sync"

	"golang.org/x/tools/go/packages"
)

// A loader makes types of packages from their source. Function bodies are looked at in
// whole packages only.
type loader struct {
	fset  *token.FileSet
	whole map[string]bool // by ID
	limit chan struct{}

	mu   sync.Mutex
	done map[string]chan struct{} // by ID, of packages that are loaded or being loaded
}

func newLoader(fset *token.FileSet, whole []*packages.Package) *loader {
	l := &loader{fset: fset, whole: map[string]bool{}, limit: make(chan struct{}, workers()), done: map[string]chan struct{}{}}
	for _, pkg := range whole {
		l.whole[pkg.ID] = true
	}
	return l
}

// load returns when pkgs and all that they import have types.
func (l *loader) load(pkgs []*packages.Package) {
	var wait sync.WaitGroup
	for _, pkg := range pkgs {
		l.mu.Lock()
		done, begun := l.done[pkg.ID]
		if !begun {
			done = make(chan struct{})
			l.done[pkg.ID] = done
		}
		l.mu.Unlock()
		wait.Go(func() {
			if begun {
				<-done
				return
			}
			defer close(done)
			imports := make([]*packages.Package, 0, len(pkg.Imports))
			for _, imp := range pkg.Imports {
				imports = append(imports, imp)
			}
			l.load(imports)
			l.limit <- struct{}{}
			defer func() { <-l.limit }()
			l.check(pkg)
		})
	}
	wait.Wait()
}

// check makes the types of a package whose imports have theirs.
func (l *loader) check(pkg *packages.Package) {
	if pkg.PkgPath == "unsafe" {
		pkg.Types = types.Unsafe
		return
	}
	whole := l.whole[pkg.ID]
	fail := func(err error) {
		if whole {
			pkg.Errors = append(pkg.Errors, errorsOf(err)...)
		}
	}
	names := pkg.GoFiles
	if whole && len(pkg.CompiledGoFiles) > 0 {
		names = pkg.CompiledGoFiles
	}
	files := make([]*ast.File, 0, len(names))
	for _, name := range names {
		how := parser.SkipObjectResolution
		if whole {
			how |= parser.ParseComments | parser.AllErrors
		}
		file, err := parser.ParseFile(l.fset, name, nil, how)
		if err != nil {
			fail(err)
		}
		if file != nil {
			files = append(files, file)
		}
	}
	c := types.Config{Importer: imports(pkg.Imports), Sizes: pkg.TypesSizes, Error: fail, IgnoreFuncBodies: !whole, FakeImportC: !whole}
	if pkg.Module != nil && pkg.Module.GoVersion != "" {
		c.GoVersion = "go" + pkg.Module.GoVersion
	}
	var info *types.Info
	if whole {
		info = newInfo()
		pkg.Fset, pkg.Syntax, pkg.TypesInfo = l.fset, files, info
	}
	pkg.Types = types.NewPackage(pkg.PkgPath, pkg.Name)
	_ = types.NewChecker(&c, l.fset, pkg.Types, info).Files(files) // errors go to fail
}

func newInfo() *types.Info {
	return &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}, Scopes: map[ast.Node]*types.Scope{},
		Instances: map[*ast.Ident]types.Instance{}, FileVersions: map[*ast.File]string{},
	}
}

// imports are a package's, by their paths in its source.
type imports map[string]*packages.Package

func (m imports) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if pkg, ok := m[path]; ok && pkg.Types != nil {
		return pkg.Types, nil
	}
	return nil, fmt.Errorf("%s was not found", path)
}

func errorsOf(err error) []packages.Error {
	var list scanner.ErrorList
	var typeError types.Error
	switch {
	case errors.As(err, &list):
		all := make([]packages.Error, 0, len(list))
		for _, e := range list {
			all = append(all, packages.Error{Pos: e.Pos.String(), Msg: e.Msg, Kind: packages.ParseError})
		}
		return all
	case errors.As(err, &typeError):
		return []packages.Error{{Pos: typeError.Fset.Position(typeError.Pos).String(), Msg: typeError.Msg, Kind: packages.TypeError}}
	}
	return []packages.Error{{Pos: "-", Msg: err.Error(), Kind: packages.UnknownError}}
}

// compileCgo asks the go command for what cgo makes of the whole packages that use it:
// their own files are not Go alone.
func compileCgo(c *packages.Config, pkgs []*packages.Package) error {
	byID := map[string]*packages.Package{}
	var paths []string
	for _, pkg := range pkgs {
		if slices.ContainsFunc(pkg.GoFiles, importsC) {
			byID[pkg.ID] = pkg
			paths = append(paths, pkg.PkgPath)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	config := *c
	config.Mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles
	compiled, err := packages.Load(&config, paths...)
	for _, from := range compiled {
		if pkg, ok := byID[from.ID]; ok {
			pkg.CompiledGoFiles = from.CompiledGoFiles
		}
	}
	return err
}

func importsC(name string) bool {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	return err == nil && slices.ContainsFunc(file.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == `"C"` })
}
