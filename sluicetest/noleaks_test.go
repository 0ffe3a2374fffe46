package sluicetest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// recorder is a test that has not ended yet.
type recorder struct {
	testing.TB
	cleanups []func()
	errors   []string
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(format string, a ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, a...))
}

func (r *recorder) end() {
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
	r.cleanups = nil
}

func takeAndForget(a *mem.Allocator) { a.Get(300) }

func retainAndForget(b mem.Buf) mem.Buf { return b.Retain() }

func TestNoLeaksNamesEveryStackThatForgot(t *testing.T) {
	a := mem.New(mem.Options{Name: "leaky"})
	r := &recorder{TB: t}
	sluicetest.NoLeaks(r, a)
	for range 2 {
		takeAndForget(a)
	}
	b := a.Get(5000)
	retainAndForget(b)
	b.Release()
	r.end()
	if len(r.errors) != 1 {
		t.Fatalf("%d errors, want 1: %q", len(r.errors), r.errors)
	}
	for _, want := range []string{`3 references to memory of allocator "leaky"`, "2 of 300, 300 bytes", "1 of 5000 bytes",
		"sluicetest_test.takeAndForget", "sluicetest_test.retainAndForget", "noleaks_test.go:"} {
		if !strings.Contains(r.errors[0], want) {
			t.Errorf("the report lacks %q:\n%s", want, r.errors[0])
		}
	}
	if strings.Contains(r.errors[0], "sluice/mem.") {
		t.Errorf("the report has frames of package mem:\n%s", r.errors[0])
	}
}

func TestNoLeaksIsSilentWhenAllIsReleased(t *testing.T) {
	a := mem.New(mem.Options{})
	r := &recorder{TB: t}
	sluicetest.NoLeaks(r, a)
	b := a.Get(10)
	r.Cleanup(b.Release)
	s := a.Slab(4096)
	c := s.Cut(1, 2)
	s.Release()
	m := mem.NewMemory(c, a.Get(8<<20))
	other := m.Retain()
	m.Release()
	other.Release()
	if err := a.Free(a.Malloc(100)); err != nil {
		t.Fatal(err)
	}
	if n := len(a.Leaks()); n != 1 {
		t.Errorf("%d references before the end of the test, want the one that a cleanup releases", n)
	}
	r.end()
	if len(r.errors) != 0 {
		t.Errorf("errors where nothing leaks: %q", r.errors)
	}
}

func TestNoLeaksLooksAtItsOwnTestOnly(t *testing.T) {
	a := mem.New(mem.Options{Leak: mem.LeakTrace})
	before := a.Get(10)
	r := &recorder{TB: t}
	sluicetest.NoLeaks(r, a)
	during := a.Get(10)
	during.Release()
	r.end()
	if len(r.errors) != 0 {
		t.Errorf("a reference of before the test is reported: %q", r.errors)
	}
	again := &recorder{TB: t}
	sluicetest.NoLeaks(again, a)
	before.Retain()
	before.Release()
	again.end()
	if len(again.errors) != 1 {
		t.Errorf("%d errors for a reference that was retained during the test, want 1", len(again.errors))
	}
}

func TestNoLeaksRestoresTheLevel(t *testing.T) {
	for _, level := range []mem.Level{mem.LeakOff, mem.LeakSample, mem.LeakTrace, mem.LeakParanoid} {
		a := mem.New(mem.Options{Leak: level})
		r := &recorder{TB: t}
		sluicetest.NoLeaks(r, a)
		want := max(level, mem.LeakTrace)
		if got := a.SetLeak(want); got != want {
			t.Errorf("level %v during the test, want %v", got, want)
		}
		r.end()
		if got := a.SetLeak(mem.LeakOff); got != level {
			t.Errorf("level %v after the test, want %v", got, level)
		}
	}
}

func TestNoLeaksOfNilWatchesTheDefaultAllocator(t *testing.T) {
	r := &recorder{TB: t}
	sluicetest.NoLeaks(r, nil)
	takeAndForget(mem.Default())
	r.end()
	if len(r.errors) != 1 {
		t.Fatalf("%d errors, want 1", len(r.errors))
	}
}
