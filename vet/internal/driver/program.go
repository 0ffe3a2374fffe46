// Package driver loads packages and runs the analyzer over them, each after the
// ones that it imports, so that facts cross packages. Of packages that are not
// asked for, only the declarations are read; those that use a library of the
// table are analysed for their facts too.
package driver

import (
	"go/token"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"
)

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

// Paths are those of the packages and of all that these import.
func (p *Program) Paths() map[string]bool {
	paths := map[string]bool{}
	packages.Visit(p.Packages, nil, func(pkg *packages.Package) { paths[pkg.PkgPath] = true })
	return paths
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
