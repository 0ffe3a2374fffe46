package mem_test

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// panicOf returns what f panics with, and "" when it does not.
func panicOf(f func()) (msg string) {
	defer func() {
		if x := recover(); x != nil {
			msg = fmt.Sprint(x)
		}
	}()
	f()
	return ""
}

// mustPanic fails t unless f panics with a message that has all of wants in it.
func mustPanic(t *testing.T, what string, f func(), wants ...string) {
	t.Helper()
	msg := panicOf(f)
	if msg == "" {
		t.Errorf("%s does not panic", what)
		return
	}
	for _, want := range wants {
		if !strings.Contains(msg, want) {
			t.Errorf("%s panics with %q, which lacks %q", what, msg, want)
		}
	}
}

// eventTimeout is the time limit of a test for what other goroutines or the
// collector must do.
const eventTimeout = time.Minute

// eventually waits for what only other goroutines can bring about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for start := time.Now(); !ok(); runtime.Gosched() {
		if time.Since(start) > eventTimeout {
			t.Fatalf("still not after %v: %s", eventTimeout, what)
		}
	}
}

// eventuallyCollected waits for what the collector and its cleanups bring about.
func eventuallyCollected(t *testing.T, what string, ok func() bool) {
	t.Helper()
	eventually(t, what, func() bool {
		runtime.GC()
		return ok()
	})
}

// steady makes caches predictable for the test: one processor, and only
// explicit garbage collections.
func steady(t *testing.T) {
	procs, gc := runtime.GOMAXPROCS(1), debug.SetGCPercent(-1)
	t.Cleanup(func() {
		debug.SetGCPercent(gc)
		runtime.GOMAXPROCS(procs)
	})
}
