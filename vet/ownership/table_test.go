package ownership_test

import (
	"go/types"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/sluice-go/sluice/vet/internal/models"
)

const library = "github.com/sluice-go/sluice"

// TestTableCoversTheLibrary: each exported function that returns bytes or
// references, or takes references, has an entry in the table.
func TestTableCoversTheLibrary(t *testing.T) {
	p, err := house()
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	known := map[string]bool{}
	for _, pkg := range p.Packages {
		if !isPublic(pkg) {
			continue
		}
		for f := range exportedFuncs(pkg.Types) {
			known[models.Key(f)] = true
			if !concernsMemory(f.Signature()) {
				continue
			}
			looked++
			if _, ok := table.Func(f); !ok {
				t.Errorf("%s is not in the table: say what it lends, keeps or takes, or nothing", strings.TrimPrefix(models.Key(f), library+"/"))
			}
		}
	}
	if looked < 60 {
		t.Errorf("only %d functions looked at", looked)
	}
	for _, pkg := range p.Packages {
		for key := range callbackFields(pkg.Types) {
			known[key] = true
		}
	}
	for key := range table.Keys(library) {
		if !known[key] {
			t.Errorf("%s is in the table and not in the library", key)
		}
	}
}

func TestTableFindsWhatIsMissing(t *testing.T) {
	p := loadCorpus(t)
	missing := 0
	for _, pkg := range p.Packages {
		for f := range exportedFuncs(pkg.Types) {
			if concernsMemory(f.Signature()) {
				missing++
			}
		}
	}
	if missing == 0 {
		t.Error("the corpus has exported functions that lend, and none is seen")
	}
}

// isPublic reports whether users import the package.
func isPublic(pkg *packages.Package) bool {
	rest, ok := strings.CutPrefix(pkg.PkgPath, library)
	if !ok || pkg.Name == "main" {
		return false
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	return !strings.Contains(rest, "/internal") && !slices.Contains([]string{"cmd", "lab", "vet", "examples", "sluicetest", "netsim"}, first)
}

// exportedFuncs yields the exported functions, and the exported methods of
// exported types.
func exportedFuncs(pkg *types.Package) func(func(*types.Func) bool) {
	return func(yield func(*types.Func) bool) {
		scope := pkg.Scope()
		for _, name := range scope.Names() {
			obj := scope.Lookup(name)
			if !obj.Exported() {
				continue
			}
			if f, ok := obj.(*types.Func); ok && !yield(f) {
				return
			}
			named, ok := obj.Type().(*types.Named)
			if _, isType := obj.(*types.TypeName); !ok || !isType {
				continue
			}
			for m := range named.Methods() {
				if m.Exported() && !yield(m) {
					return
				}
			}
			if iface, ok := named.Underlying().(*types.Interface); ok {
				for m := range iface.ExplicitMethods() {
					if m.Exported() && !yield(m) {
						return
					}
				}
			}
		}
	}
}

// callbackFields yields the exported fields that take a function, or are a channel, as
// the table names them.
func callbackFields(pkg *types.Package) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, name := range pkg.Scope().Names() {
			s, ok := pkg.Scope().Lookup(name).Type().Underlying().(*types.Struct)
			if !ok {
				continue
			}
			for f := range s.Fields() {
				_, takes := f.Type().Underlying().(*types.Signature)
				_, sends := f.Type().Underlying().(*types.Chan)
				if (takes || sends) && f.Exported() && !yield(pkg.Path()+"."+name+"."+f.Name()) {
					return
				}
			}
		}
	}
}

// concernsMemory reports whether a function returns bytes, or takes or returns
// references.
func concernsMemory(sig *types.Signature) bool {
	for v := range sig.Results().Variables() {
		if holds(v.Type(), isBytes, 0) || holds(v.Type(), isReference, 0) {
			return true
		}
	}
	for v := range sig.Params().Variables() {
		if holds(v.Type(), isReference, 0) {
			return true
		}
	}
	return false
}

func isBytes(t types.Type) bool {
	s, ok := t.Underlying().(*types.Slice)
	return ok && types.Identical(s.Elem(), types.Typ[types.Byte])
}

func isReference(t types.Type) bool {
	kind := table.Type(t)
	return kind == models.Owned || kind == models.Single
}

// holds reports whether a value of type t is, or leads to, what is asked for.
func holds(t types.Type, what func(types.Type) bool, depth int) bool {
	if what(t) {
		return true
	}
	if depth > 2 {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return what(u.Elem())
	case *types.Slice:
		return holds(u.Elem(), what, depth+1)
	}
	return false
}
