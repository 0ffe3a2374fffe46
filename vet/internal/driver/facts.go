package driver

import (
	"go/types"
	"reflect"
	"sync"

	"golang.org/x/tools/go/analysis"
)

// facts are the analyzer's facts about functions and packages.
type facts struct {
	mu       sync.Mutex
	objects  map[factKey]analysis.Fact
	packages map[packageKey]analysis.Fact
}

type factKey struct {
	object types.Object
	kind   reflect.Type
}

type packageKey struct {
	pkg  *types.Package
	kind reflect.Type
}

func newFacts() *facts {
	return &facts{objects: map[factKey]analysis.Fact{}, packages: map[packageKey]analysis.Fact{}}
}

// connect gives a pass the facts, to read and to add to.
func (f *facts) connect(pass *analysis.Pass) {
	pass.ImportObjectFact = func(obj types.Object, fact analysis.Fact) bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return load(fact, f.objects[factKey{obj, reflect.TypeOf(fact)}])
	}
	pass.ExportObjectFact = func(obj types.Object, fact analysis.Fact) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.objects[factKey{obj, reflect.TypeOf(fact)}] = fact
	}
	pass.ImportPackageFact = func(pkg *types.Package, fact analysis.Fact) bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return load(fact, f.packages[packageKey{pkg, reflect.TypeOf(fact)}])
	}
	pass.ExportPackageFact = func(fact analysis.Fact) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.packages[packageKey{pass.Pkg, reflect.TypeOf(fact)}] = fact
	}
	pass.AllObjectFacts = func() []analysis.ObjectFact { return nil }
	pass.AllPackageFacts = func() []analysis.PackageFact { return nil }
}

func load(to, from analysis.Fact) bool {
	if from == nil {
		return false
	}
	reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from).Elem())
	return true
}
