package driver

import (
	"errors"
	"fmt"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// What the go command lists: no export data, for which it would compile all that is
// imported.
const mode = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypesSizes | packages.NeedModule

// Load loads the packages that match the patterns. modelled reports whether
// a package is in the table.
func Load(o LoadOptions, modelled func(path string) bool, patterns ...string) (*Program, error) {
	p := &Program{Fset: token.NewFileSet(), facts: newFacts()}
	c := &packages.Config{Mode: mode, Dir: o.Dir, Env: o.Env, Tests: o.Tests}
	if o.Tags != "" {
		c.BuildFlags = []string{"-tags=" + o.Tags}
	}
	pkgs, err := packages.Load(c, patterns...)
	if err != nil {
		return nil, err
	}
	// A test binary's main package has no code to analyse.
	pkgs = slices.DeleteFunc(pkgs, func(pkg *packages.Package) bool { return strings.HasSuffix(pkg.ID, ".test") })
	p.deps = builtOn(pkgs, modelled)
	whole := slices.Concat(pkgs, p.deps)
	if err := compileCgo(c, whole); err != nil {
		return nil, err
	}
	newLoader(p.Fset, whole).load(pkgs)
	for _, pkg := range pkgs {
		for _, e := range pkg.Errors {
			err = errors.Join(err, e)
		}
		if len(pkg.Syntax) > 0 {
			p.Packages = append(p.Packages, pkg)
		}
	}
	if err != nil {
		return nil, err
	}
	if len(p.Packages) == 0 {
		return nil, fmt.Errorf("no packages match %s", strings.Join(patterns, " "))
	}
	return p, nil
}

// builtOn lists packages outside the standard library that were not asked for, that one of
// pkgs imports, and that import a package of the table.
func builtOn(pkgs []*packages.Package, modelled func(path string) bool) []*packages.Package {
	known := map[string]bool{}
	modules := map[string]bool{}
	for _, pkg := range pkgs {
		known[pkg.PkgPath] = true
		if pkg.Module != nil {
			modules[pkg.Module.Path] = true
		}
	}
	standard := func(path string) bool {
		return IsStandard(path) && !within(path, modules)
	}
	var list []*packages.Package
	for _, pkg := range pkgs {
		for _, dep := range pkg.Imports {
			if known[dep.PkgPath] || standard(dep.PkgPath) || modelled(dep.PkgPath) {
				continue
			}
			for _, imp := range dep.Imports {
				if modelled(imp.PkgPath) && !standard(imp.PkgPath) {
					known[dep.PkgPath] = true
					list = append(list, dep)
					break
				}
			}
		}
	}
	return list
}
