// Package driver loads packages and runs the analyzer over them, each after the
// ones that it imports, so that facts cross packages. Packages that are not
// asked for come from export data; of those, the ones that use a library of the
// table are analysed for their facts too.
package driver

import (
	"errors"
	"fmt"
	"go/token"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"
)

const mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes |
	packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes | packages.NeedModule

// A Program is packages with their types, and the facts about them.
type Program struct {
	Fset     *token.FileSet
	Packages []*packages.Package // those that were asked for
	deps     []*packages.Package // analysed only for their facts
	facts    *facts
}

// LoadOptions say how packages are found.
type LoadOptions struct {
	Dir   string
	Env   []string // nil: the process's
	Tags  string
	Tests bool
}

// Load loads the packages that match the patterns. modelled reports whether
// a package is in the table.
func Load(o LoadOptions, modelled func(path string) bool, patterns ...string) (*Program, error) {
	p := &Program{Fset: token.NewFileSet(), facts: newFacts()}
	c := &packages.Config{Mode: mode, Dir: o.Dir, Env: o.Env, Fset: p.Fset, Tests: o.Tests}
	if o.Tags != "" {
		c.BuildFlags = []string{"-tags=" + o.Tags}
	}
	pkgs, err := packages.Load(c, patterns...)
	if err != nil {
		return nil, err
	}
	if built := builtOn(pkgs, modelled); len(built) > 0 {
		p.Fset = token.NewFileSet()
		c.Fset = p.Fset
		all, err := packages.Load(c, append(slices.Clone(patterns), built...)...)
		if err != nil {
			return nil, err
		}
		pkgs = nil
		for _, pkg := range all {
			if slices.Contains(built, pkg.PkgPath) {
				p.deps = append(p.deps, pkg)
			} else {
				pkgs = append(pkgs, pkg)
			}
		}
	}
	for _, pkg := range pkgs {
		for _, e := range pkg.Errors {
			err = errors.Join(err, e)
		}
		// A test binary's main package has no code to analyse.
		if !strings.HasSuffix(pkg.ID, ".test") && len(pkg.Syntax) > 0 {
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

// builtOn lists packages outside the standard library that were not asked for,
// and that import a package of the table.
func builtOn(pkgs []*packages.Package, modelled func(path string) bool) []string {
	asked := map[string]bool{}
	modules := map[string]bool{}
	for _, pkg := range pkgs {
		asked[pkg.PkgPath] = true
		if pkg.Module != nil {
			modules[pkg.Module.Path] = true
		}
	}
	standard := func(path string) bool {
		return IsStandard(path) && !within(path, modules)
	}
	var list []string
	for _, pkg := range pkgs {
		if pkg.Types == nil {
			continue
		}
		for _, dep := range pkg.Types.Imports() {
			if asked[dep.Path()] || standard(dep.Path()) || modelled(dep.Path()) || slices.Contains(list, dep.Path()) {
				continue
			}
			for _, imp := range dep.Imports() {
				if modelled(imp.Path()) && !standard(imp.Path()) {
					list = append(list, dep.Path())
					break
				}
			}
		}
	}
	return list
}

// IsStandard reports whether path looks like one of the standard library: its first
// element has no dot. So may that of a user's module.
func IsStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// within reports whether a package belongs to one of the modules.
func within(path string, modules map[string]bool) bool {
	for module := range modules {
		if path == module || strings.HasPrefix(path, module+"/") {
			return true
		}
	}
	return false
}

// Lines returns how many lines of code the packages have.
func (p *Program) Lines() int {
	n := 0
	for _, pkg := range p.Packages {
		for _, f := range pkg.Syntax {
			n += p.Fset.File(f.FileStart).LineCount()
		}
	}
	return n
}

// eachInOrder calls f for every package after the calls for what it imports,
// several at a time.
func (p *Program) eachInOrder(f func(pkg *packages.Package)) {
	all := slices.Concat(p.deps, p.Packages)
	done := map[string]chan struct{}{}
	for _, pkg := range all {
		done[pkg.ID] = make(chan struct{})
	}
	var wait sync.WaitGroup
	limit := make(chan struct{}, workers())
	for _, pkg := range all {
		wait.Go(func() {
			defer close(done[pkg.ID])
			for _, imp := range pkg.Imports {
				if ch, ok := done[imp.ID]; ok {
					<-ch
				}
			}
			limit <- struct{}{}
			defer func() { <-limit }()
			f(pkg)
		})
	}
	wait.Wait()
}
