package evidence

import (
	"os"
	"runtime"
	"strings"
	"testing"
)

//go:noinline
func callersOf(pcs []uintptr) { runtime.Callers(2, pcs) }

// inlined is part of what calls it.
func inlined(pcs []uintptr) { callersOf(pcs) }

// callsInlined calls a function that stands above it.
//
//go:noinline
func callsInlined(pcs []uintptr) { inlined(pcs) }

func TestALineOutsideOfTheFunctionIsLeftOut(t *testing.T) {
	names := goNames(os.Getpid())
	if names == nil {
		t.Skip("the functions of a process are not read here")
	}
	pcs := make([]uintptr, 1)
	callsInlined(pcs)
	f := names.frame(uint64(pcs[0]) - 1)
	if !strings.HasSuffix(f.Func, ".callsInlined") || f.Line != 0 {
		t.Errorf("%+v", f)
	}
}
