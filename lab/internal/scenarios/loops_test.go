package scenarios

import (
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"testing"

	"github.com/sluice-go/sluice/netsim"
)

// ofItsOwn is the name of a closure that was compiled where it stands. One that
// was copied into a caller together with the function around it is named after
// both, as in init.memKind.func1.
var ofItsOwn = regexp.MustCompile(`^\.(\(\*\w+\)\.)?\w+(-fm)?(\.(func)?\d+)*$`)

// A loop that is measured must be compiled as in a user's program. The compiler
// calls even the smallest functions in closures that it has copied into the
// package's initialization, which is large; in other loops it inlines them. Such
// calls, in some variants and not in others, would be measured.
func TestMeasuredLoopsAreCompiledWhereTheyStand(t *testing.T) {
	check := func(what string, f any) {
		t.Helper()
		name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
		if !ofItsOwn.MatchString(name[len(packagePath):]) {
			t.Errorf("%s: its loop was copied into another function: %s", what, name)
		}
	}
	for _, k := range poolKinds {
		check(k.name, k.open(256).pair)
	}
	s := frameKind{7, 256, 1024}.frames()
	for _, w := range slices.Concat(floorWays, allFrames) {
		walk, end := w.open(netsim.NewReader(s.source(0), netsim.Good, 1), place{s: s})
		check(w.name, walk)
		if end != nil {
			end()
		}
	}
}

var packagePath = reflect.TypeFor[poolKind]().PkgPath()
