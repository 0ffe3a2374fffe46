package sluicetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/mem"
)

// NoLeaks fails t when it ends, if then a reference to memory of a is
// outstanding that was taken after this call, and prints the stack that took
// it. A nil a is mem.Default().
//
// It raises the allocator's level to mem.LeakTrace until then. It does not
// wait: goroutines that release must have ended. Call it first in the test,
// because what t.Cleanup releases is seen only if it was registered later.
// References that were taken before, and ones retained from those whose
// checkout was not watched, are not watched; nor are Bufs that mem.Wrap made.
// Tests that share an allocator must not run in parallel.
func NoLeaks(t testing.TB, a *mem.Allocator) {
	t.Helper()
	if a == nil {
		a = mem.Default()
	}
	level := a.SetLeak(mem.LeakTrace)
	if level > mem.LeakTrace {
		a.SetLeak(level)
	}
	before := make(map[uint64]bool)
	for _, l := range a.Leaks() {
		before[l.Seq] = true
	}
	t.Cleanup(func() {
		t.Helper()
		a.SetLeak(level)
		var leaks []mem.Leak
		for _, l := range a.Leaks() {
			if !before[l.Seq] {
				leaks = append(leaks, l)
			}
		}
		if len(leaks) > 0 {
			t.Errorf("%s", report(a.Stats().Name, leaks))
		}
	})
}

// report prints each stack once, with the references that it took, in the
// order in which the first of them was taken.
func report(name string, leaks []mem.Leak) string {
	var stacks []string
	sizes := make(map[string][]string)
	for _, l := range leaks {
		if sizes[l.Stack] == nil {
			stacks = append(stacks, l.Stack)
		}
		sizes[l.Stack] = append(sizes[l.Stack], fmt.Sprint(l.Size))
	}
	var s strings.Builder
	fmt.Fprintf(&s, "sluicetest: %d references to memory of allocator %q were not released", len(leaks), name)
	for _, stack := range stacks {
		fmt.Fprintf(&s, "\n%d of %s bytes, taken at\n%s", len(sizes[stack]), strings.Join(sizes[stack], ", "), stack)
	}
	return s.String()
}
