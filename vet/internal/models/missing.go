package models

import (
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"strings"

	"github.com/sluice-go/sluice/vet/internal/effect"
)

// A line of a user's file names a function or a type.
type line struct {
	at   string // file and line
	pkg  string
	name string
	list []effect.Effect // of a function
	kind TypeKind        // of a type; Plain for functions
}

// Missing returns what the lines of the user's file name and pkg does not have, or
// nil. Where pkg is one that is imported, only exported names can be known.
func (t *Table) Missing(pkg *types.Package, imported bool) error {
	var errs []error
	for _, l := range t.lines {
		if l.pkg != pkg.Path() || imported && !exported(l.name) {
			continue
		}
		if err := l.check(pkg); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", l.at, err))
		}
	}
	return errors.Join(errs...)
}

// Unmet lists the packages of the user's file that are not among paths, each with the first line that
// stands below its name.
func (t *Table) Unmet(paths map[string]bool) []string {
	var list []string
	listed := map[string]bool{}
	for _, l := range t.lines {
		if !paths[l.pkg] && !listed[l.pkg] {
			listed[l.pkg] = true
			list = append(list, fmt.Sprintf("%s: package %s", l.at, l.pkg))
		}
	}
	return list
}

func exported(name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		if !token.IsExported(part) {
			return false
		}
	}
	return true
}

func (l *line) check(pkg *types.Package) error {
	first, rest, inType := strings.Cut(l.name, ".")
	obj := pkg.Scope().Lookup(first)
	_, isType := obj.(*types.TypeName)
	if inType && isType {
		obj, _, _ = types.LookupFieldOrMethod(obj.Type(), true, pkg, rest)
	}
	if obj == nil || isType != (inType || l.kind != Plain) {
		return fmt.Errorf("%s has no %s", l.pkg, l.name)
	}
	if f, ok := obj.(*types.Func); ok {
		return l.operands(f.Signature())
	}
	return nil // a type or a field
}

// operands says what the clauses name and the function does not have.
func (l *line) operands(sig *types.Signature) error {
	for _, e := range l.list {
		if e.Operand == effect.Recv && sig.Recv() == nil {
			return fmt.Errorf("%s has no receiver", l.name)
		}
		if n := sig.Params().Len(); e.Operand >= n {
			return fmt.Errorf("%s has no arg %d: it has %d", l.name, e.Operand, n)
		}
		if n := sig.Results().Len(); e.Result >= n {
			return fmt.Errorf("%s has no result %d: it has %d", l.name, e.Result, n)
		}
	}
	return nil
}
