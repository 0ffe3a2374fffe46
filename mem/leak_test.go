package mem_test

import (
	"bytes"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/internal/hooks"
	"github.com/sluice-go/sluice/mem"
)

// These take references in functions of known names.

func getHere(a *mem.Allocator, n int) mem.Buf     { return a.Get(n) }
func retainHere(b mem.Buf) mem.Buf                { return b.Retain() }
func sliceHere(b mem.Buf) mem.Buf                 { return b.RetainedSlice(0, 1) }
func shareHere(b mem.Buf, to []mem.Buf)           { b.Share(to) }
func cutHere(s *mem.Slab) mem.Buf                 { return s.Cut(0, 1) }
func unparkHere(p hooks.Parked) mem.Slab          { return mem.Unpark(p) }
func mallocHere(a *mem.Allocator, n int) []byte   { return a.Malloc(n) }
func memoryHere(m *mem.Memory) *mem.Memory        { return m.Retain() }
func tryHere(a *mem.Allocator, n int) (b mem.Buf) { b, _ = a.TryGet(n); return b }

func stacks(a *mem.Allocator) (s []string) {
	for _, l := range a.Leaks() {
		s = append(s, l.Stack)
	}
	return s
}

func TestTraceNamesTheLineOfEveryReference(t *testing.T) {
	for _, level := range []mem.Level{mem.LeakTrace, mem.LeakParanoid} {
		a := mem.New(mem.Options{Leak: level})
		b := getHere(a, 700)
		c := retainHere(b)
		d := sliceHere(b)
		var e [2]mem.Buf
		shareHere(b, e[:])
		f := tryHere(a, 300)
		s := a.Slab(9000)
		g := cutHere(&s)
		p := s.Park()
		s = unparkHere(p)
		if !s.Valid() {
			t.Fatal("not unparked")
		}
		h := mallocHere(a, 10)
		m := mem.NewMemory(g)
		n := memoryHere(m)
		want := []struct {
			size int
			name string
		}{
			{700, "getHere"}, {700, "retainHere"}, {700, "sliceHere"}, {700, "shareHere"}, {700, "shareHere"},
			{300, "tryHere"}, {9000, "cutHere"}, {9000, "unparkHere"}, {10, "mallocHere"}, {9000, "memoryHere"},
		}
		leaks := a.Leaks()
		if len(leaks) != len(want) {
			t.Fatalf("level %v: %d references are outstanding, want %d", level, len(leaks), len(want))
		}
		for i, l := range leaks {
			first, _, _ := strings.Cut(l.Stack, "\n")
			if l.Size != want[i].size || !strings.HasSuffix(first, "mem_test."+want[i].name) || !strings.Contains(l.Stack, "leak_test.go:") {
				t.Errorf("level %v: reference %d is of %d bytes, taken at\n%swant %d bytes and %s", level, i, l.Size, l.Stack, want[i].size, want[i].name)
			}
			if i > 0 && l.Seq <= leaks[i-1].Seq {
				t.Errorf("level %v: reference %d has number %d after %d", level, i, l.Seq, leaks[i-1].Seq)
			}
		}
		for _, x := range []*mem.Buf{&b, &c, &d, &e[0], &e[1], &f} {
			x.Release()
		}
		s.Release()
		m.Release()
		n.Release()
		if err := a.Free(h); err != nil {
			t.Error(err)
		}
		if left := stacks(a); len(left) != 0 {
			t.Errorf("level %v: after all Releases\n%s", level, strings.Join(left, "\n"))
		}
	}
}

func TestEachReleaseEndsItsOwnReference(t *testing.T) {
	a := mem.New(mem.Options{Leak: mem.LeakTrace})
	b := getHere(a, 100)
	c := retainHere(b)
	b.Release()
	if s := stacks(a); len(s) != 1 || !strings.Contains(s[0], "retainHere") {
		t.Errorf("outstanding after the first Release: %q", s)
	}
	d := sliceHere(c)
	c.Release()
	if s := stacks(a); len(s) != 1 || !strings.Contains(s[0], "sliceHere") {
		t.Errorf("outstanding after the second Release: %q", s)
	}
	d.Release()
}

func TestOffWatchesNothing(t *testing.T) {
	a := mem.New(mem.Options{})
	b := a.Get(100)
	if n := len(a.Leaks()); n != 0 || a.LeakLevel() != mem.LeakOff {
		t.Errorf("%d references are watched at level %v", n, a.LeakLevel())
	}
	b.Release()
}

func TestSampleWatchesOneCheckoutInEvery128(t *testing.T) {
	a := mem.New(mem.Options{Leak: mem.LeakSample})
	var held []mem.Buf
	for range 10 * mem.SampleEvery {
		b := getHere(a, 100)
		held = append(held, retainHere(b))
		b.Release()
	}
	left := stacks(a)
	if mem.SampleEvery != 128 || len(left) != 10 {
		t.Errorf("%d of %d checkouts are watched, want one in 128", len(left), len(held))
	}
	for _, s := range left {
		if !strings.Contains(s, "mem_test.getHere") {
			t.Errorf("a watched checkout was made at\n%s", s)
		}
	}
	for i := range held {
		held[i].Release()
	}
	if n := len(a.Leaks()); n != 0 {
		t.Errorf("%d are watched after all Releases", n)
	}
}

func TestTheLevelHoldsForWhatIsHandedOutAfterIt(t *testing.T) {
	a := mem.New(mem.Options{})
	before := a.Get(100)
	a.SetLeak(mem.LeakTrace)
	during := a.Get(100)
	more := before.Retain()
	a.SetLeak(mem.LeakOff)
	still := during.Retain()
	after := a.Get(100)
	if n := len(a.Leaks()); n != 2 {
		t.Errorf("%d references are watched, want the one that was taken under trace and its copy", n)
	}
	for _, b := range []*mem.Buf{&before, &during, &more, &still, &after} {
		b.Release()
	}
	if n := len(a.Leaks()); n != 0 {
		t.Errorf("%d are watched after all Releases", n)
	}
}

func TestForgottenReferencesStayOnRecordAfterTheCollectorTookTheirMemory(t *testing.T) {
	a := mem.New(mem.Options{Leak: mem.LeakTrace})
	getHere(a, 100)
	eventuallyCollected(t, "the block is found", func() bool { return a.Stats().Forgotten == 1 })
	if s := stacks(a); len(s) != 1 || !strings.Contains(s[0], "getHere") {
		t.Errorf("outstanding: %q", s)
	}
}

func profileText(t *testing.T) string {
	t.Helper()
	p := pprof.Lookup("sluice_bufs")
	if p == nil {
		t.Fatal("there is no profile sluice_bufs")
	}
	var s bytes.Buffer
	if err := p.WriteTo(&s, 1); err != nil {
		t.Fatal(err)
	}
	if err := p.WriteTo(new(bytes.Buffer), 0); err != nil {
		t.Fatal(err)
	}
	return s.String()
}

func profiledHere(a *mem.Allocator) mem.Buf { return a.Get(100) }

func TestTheProfileListsOutstandingReferences(t *testing.T) {
	a := mem.New(mem.Options{Leak: mem.LeakTrace})
	const name = "mem_test.profiledHere"
	if text := profileText(t); strings.Contains(text, name) {
		t.Fatalf("listed before:\n%s", text)
	}
	b, c := profiledHere(a), profiledHere(a)
	if text := profileText(t); !strings.Contains(text, name) {
		t.Errorf("not listed:\n%s", text)
	}
	b.Release()
	if text := profileText(t); !strings.Contains(text, name) {
		t.Errorf("not listed with one of two left:\n%s", text)
	}
	c.Release()
	if text := profileText(t); strings.Contains(text, name) {
		t.Errorf("listed after both Releases:\n%s", text)
	}
	runtime.KeepAlive(a)
}
