package mem_test

import (
	"encoding/json"
	"expvar"
	"testing"

	"github.com/sluice-go/sluice/internal/invariant"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

func TestStatsCountHitsAndMisses(t *testing.T) {
	steady(t)
	a := mem.New(mem.Options{Name: "counted"})
	if s := a.Stats(); s != (mem.Stats{Name: "counted"}) {
		t.Errorf("an unused allocator has %+v", s)
	}
	b, c := a.Get(1000), a.Get(1000)
	d := a.Get(5 << 20)
	s := a.Stats()
	want := mem.Stats{
		Name: "counted", CheckedOut: 3, OutBytes: 1024 + 1024 + 5<<20, Misses: 3,
	}
	if s != want {
		t.Errorf("after three Gets:\n%+v, want\n%+v", s, want)
	}
	b.Release()
	c.Release()
	d.Release()
	for range 10 {
		b = a.Get(600)
		b.Release()
	}
	s = a.Stats()
	if s.CheckedOut != 0 || s.OutBytes != 0 || s.Hits+s.Misses != 13 || s.Forgotten != 0 || s.PinnedBytes != 0 {
		t.Errorf("after ten Gets more and all Releases: %+v", s)
	}
	if sys.Race || invariant.Enabled {
		return // caches lose or hold back blocks in this build
	}
	if s.Hits != 10 || s.Misses != 3 || s.IdleBytes != 2048 {
		t.Errorf("%d hits, %d misses, %d bytes idle, want 10, 3 and 2048", s.Hits, s.Misses, s.IdleBytes)
	}
}

func TestHitsAreNotLostWithTheirBlocks(t *testing.T) {
	steady(t)
	a := mem.New(mem.Options{})
	for range 100 {
		b := a.Get(1000)
		b.Release()
	}
	before := a.Stats()
	a.Trim()
	eventuallyCollected(t, "all idle blocks are gone", func() bool { return a.Stats().IdleBytes == 0 })
	if s := a.Stats(); s.Hits != before.Hits || s.Misses != before.Misses || s.Hits+s.Misses != 100 {
		t.Errorf("%d hits and %d misses, %d and %d after Trim", before.Hits, before.Misses, s.Hits, s.Misses)
	}
}

func TestTrimGivesIdleMemoryBackAndNothingElse(t *testing.T) {
	a := mem.New(mem.Options{Budget: 1 << 20})
	kept := a.Get(3000)
	copy(kept.Bytes(), "kept")
	for _, size := range []int{100, 4096, 70_000} {
		var bufs []mem.Buf
		for range 5 {
			bufs = append(bufs, a.Get(size))
		}
		for i := range bufs {
			bufs[i].Release()
		}
	}
	a.Trim()
	if s := a.Stats(); s.CheckedOut != 1 || s.Budget.Charged != 4096 {
		t.Errorf("after Trim %d blocks are out and %d bytes are charged", s.CheckedOut, s.Budget.Charged)
	}
	eventuallyCollected(t, "all idle blocks are gone", func() bool { return a.Stats().IdleBytes == 0 })
	if s := a.Stats(); s.CheckedOut != 1 || s.Forgotten != 0 || string(kept.Bytes()[:4]) != "kept" {
		t.Errorf("after two collections %d blocks are out, %d forgotten", s.CheckedOut, s.Forgotten)
	}
	kept.Release()
}

func TestPinnedIsWhatOnlyViewsKeep(t *testing.T) {
	for _, level := range leakLevels {
		a := mem.New(mem.Options{Leak: level})
		pinned := func(what string, want int64) {
			t.Helper()
			s := a.Stats()
			if s.PinnedBytes != want || s.OutBytes < want {
				t.Errorf("level %v, %s: %d bytes of %d are pinned, want %d", level, what, s.PinnedBytes, s.OutBytes, want)
			}
		}
		b := a.Get(8192)
		pinned("a whole block", 0)
		v := b.RetainedSlice(0, 1024)
		pinned("a block beside its view", 0)
		b.Release()
		pinned("a small view", 8192)
		v.Release()
		pinned("nothing", 0)

		b = a.Get(8192)
		v = b.RetainedSlice(0, 1025)
		b.Release()
		pinned("a large view", 0)
		v.Release()

		b = a.Get(8192)
		other, v := b.Retain(), b.RetainedSlice(0, 10)
		v.Release()
		b.Release()
		pinned("a whole block from which a view was cut", 0)
		other.Release()

		s := a.Slab(8192)
		v = s.Cut(0, 100)
		pinned("a cut beside its slab", 0)
		parked := s.Park()
		pinned("a cut", 8192)
		s = mem.Unpark(parked)
		ok := s.Valid()
		if !ok {
			t.Fatal("not unparked")
		}
		pinned("a cut whose slab came back", 0)
		s.Release()
		pinned("a cut again", 8192)
		if !v.Compact() {
			t.Fatal("not compacted")
		}
		pinned("a compacted cut", 0)
		v.Release()

		m := mem.NewMemory(a.Get(8192))
		r := m.NewReader()
		r.Skip(7000)
		r.ClipFront()
		pinned("a Memory whose front was clipped", 0)
		r.Skip(168)
		r.ClipFront()
		pinned("a Memory of which little is left", 8192)
		m.Release()
		if out := a.Stats().CheckedOut; out != 0 {
			t.Errorf("level %v: %d blocks are out", level, out)
		}
	}
}

func forget(a *mem.Allocator, n int) { a.Get(n) }

func TestForgottenBlocksAreCountedWhenTheCollectorFindsThem(t *testing.T) {
	a := mem.New(mem.Options{Budget: 100 << 20})
	for range 5 {
		forget(a, 3000)
	}
	forget(a, 5<<20)
	if s := a.Stats(); int64(s.CheckedOut)+s.Forgotten != 6 { // the collector may have been here already
		t.Errorf("%d blocks are out, %d forgotten", s.CheckedOut, s.Forgotten)
	}
	eventuallyCollected(t, "six forgotten blocks are found", func() bool { return a.Stats().Forgotten == 6 })
	s := a.Stats()
	if s.CheckedOut != 0 || s.OutBytes != 0 || s.Budget.Charged != 0 || s.Misses != 6 || s.Hits != 0 {
		t.Errorf("in the end: %+v", s)
	}
}

func TestBlocksThatAreLostIdleAreNotForgotten(t *testing.T) {
	a := mem.New(mem.Options{})
	var bufs []mem.Buf
	for range 20 {
		bufs = append(bufs, a.Get(3000))
	}
	for i := range bufs {
		bufs[i].Release()
	}
	if !invariant.Enabled { // there the quarantine keeps them
		eventuallyCollected(t, "idle blocks are gone", func() bool { return a.Stats().IdleBytes == 0 })
	}
	if n := a.Stats().Forgotten; n != 0 {
		t.Errorf("%d idle blocks count as forgotten", n)
	}
}

func TestStatsAreAnExpvar(t *testing.T) {
	a := mem.New(mem.Options{Name: `quotes " and \`, Budget: 1 << 20})
	b := a.Get(1000)
	defer b.Release()
	v := new(expvar.Map).Init()
	v.Set("alloc", expvar.Func(func() any { return a.Stats() }))
	var all map[string]mem.Stats
	if err := json.Unmarshal([]byte(v.String()), &all); err != nil {
		t.Fatalf("%v in %s", err, v)
	}
	if got, want := all["alloc"], a.Stats(); got != want {
		t.Errorf("JSON says\n%+v, Stats\n%+v", got, want)
	}
}
