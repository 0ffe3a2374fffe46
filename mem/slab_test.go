package mem_test

import (
	"bytes"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice/internal/hooks"
	"github.com/sluice-go/sluice/internal/invariant"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

func TestCutsSeeTheSlabsBytesAndOutliveIt(t *testing.T) {
	a := mem.New(mem.Options{})
	s := a.Slab(5000)
	if len(s.Bytes()) != 8192 {
		t.Fatalf("the slab has %d bytes, want the class's 8192", len(s.Bytes()))
	}
	var cuts []mem.Buf
	for i := range 64 {
		p := s.Bytes()[i*128 : (i+1)*128]
		for k := range p {
			p[k] = byte(i)
		}
		cuts = append(cuts, s.Cut(i*128, 128))
	}
	whole, nothing := s.Cut(0, 8192), s.Cut(8192, 0)
	s.Release()
	if s.Valid() {
		t.Error("the slab is valid after Release")
	}
	if whole.Len() != 8192 || nothing.Len() != 0 {
		t.Errorf("cuts of %d and %d bytes", whole.Len(), nothing.Len())
	}
	whole.Release()
	nothing.Release()
	for i := range cuts {
		if want := bytes.Repeat([]byte{byte(i)}, 128); !bytes.Equal(cuts[i].Bytes(), want) {
			t.Errorf("cut %d has other bytes", i)
		}
		if p := cuts[i].Bytes(); cap(p) != 128 {
			t.Errorf("cut %d has capacity %d", i, cap(p))
		}
		cuts[i].Release()
	}
	if n := a.Stats().CheckedOut; n != 0 {
		t.Errorf("%d blocks are out", n)
	}
}

func TestCutOutsideTheSlabPanicsWithTheNumbers(t *testing.T) {
	a := mem.New(mem.Options{})
	s := a.Slab(256)
	first := s.Cut(0, 1) // so that references are at hand
	for _, x := range [][2]int{{-1, 1}, {-1, 2}, {0, -1}, {0, 257}, {256, 1}, {257, 0}, {1 << 30, 1 << 30}, {5, -5}} {
		i, n := x[0], x[1]
		mustPanic(t, "Cut", func() { s.Cut(i, n) }, "mem: Slab.Cut(", "of 256 bytes")
	}
	first.Release()
	if s.Shared() {
		t.Error("refused cuts hold references")
	}
	s.Release()
	mustPanic(t, "a second Release", s.Release, "mem: Slab.Release: ")
}

func TestSharedFollowsTheCuts(t *testing.T) {
	for _, level := range leakLevels {
		a := mem.New(mem.Options{Leak: level})
		s := a.Slab(4096)
		if s.Shared() {
			t.Error("a new slab is shared")
		}
		b := s.Cut(0, 10)
		if !s.Shared() {
			t.Error("a slab with a cut is not shared")
		}
		c := b.Retain()
		b.Release()
		if !s.Shared() {
			t.Error("a slab whose cut was retained is not shared")
		}
		c.Release()
		if s.Shared() {
			t.Error("the slab is shared after the last cut's Release")
		}
		s.Release()
	}
}

func TestASlabCutsMoreThanOneLotOfReferences(t *testing.T) {
	a := mem.New(mem.Options{})
	s := a.Slab(256)
	const many = 200_000
	for range many {
		b := s.Cut(3, 1)
		b.Release()
	}
	if s.Shared() {
		t.Error("the slab is shared after all cuts' Releases")
	}
	kept := make([]mem.Buf, many)
	for i := range kept {
		kept[i] = s.Cut(3, 1)
	}
	if !s.Shared() {
		t.Error("the slab is not shared")
	}
	s.Release()
	for i := range kept {
		if (i%1000 == 0 || i == many-1) && a.Stats().CheckedOut != 1 {
			t.Fatalf("the block went home with %d cuts out", many-i)
		}
		kept[i].Release()
	}
	if n := a.Stats().CheckedOut; n != 0 {
		t.Errorf("%d blocks are out", n)
	}
}

func TestSlabOfTakesABufThatNobodyElseHolds(t *testing.T) {
	for _, level := range leakLevels {
		a := mem.New(mem.Options{Leak: level})
		freed := 0
		for name, make := range map[string]func() mem.Buf{
			"Get":  func() mem.Buf { return a.Get(4096) },
			"long": func() mem.Buf { return a.Get(5 << 20) },
			"Wrap": func() mem.Buf { return mem.Wrap([]byte("foreign bytes"), func() { freed++ }) },
		} {
			b := make()
			copy(b.Bytes(), "payload")
			size, old := b.Len(), b
			s := mem.SlabOf(b)
			mustPanic(t, name+": Bytes of the Buf that became a Slab", func() { old.Bytes() }, "mem: Buf.Bytes: ")
			if len(s.Bytes()) != size || s.Shared() {
				t.Errorf("%s: %d bytes, shared: %v", name, len(s.Bytes()), s.Shared())
			}
			c := s.Cut(3, 4)
			s.Release()
			if string(c.Bytes()) != "load" {
				t.Errorf("%s: the cut has %q", name, c.Bytes())
			}
			c.Release()

			b = make()
			other := b.Retain()
			if s := mem.SlabOf(b); s.Valid() {
				t.Errorf("%s: SlabOf a shared Buf", name)
			}
			part := b.RetainedSlice(1, 3)
			other.Release()
			if s, p := mem.SlabOf(b), mem.SlabOf(part); s.Valid() || p.Valid() {
				t.Errorf("%s: SlabOf a Buf of which others hold a part, or of a part", name)
			}
			part.Release()
			s = mem.SlabOf(b)
			s.Release()
		}
		if out, leaks := a.Stats().CheckedOut, a.Leaks(); out != 0 || freed != 2 || level >= mem.LeakTrace && len(leaks) != 0 {
			t.Errorf("level %v: %d blocks are out, %d references, freed %d times", level, out, len(leaks), freed)
		}
	}
}

func TestUnparkGivesTheBlockBackWhileOthersHoldIt(t *testing.T) {
	for _, level := range leakLevels {
		a := mem.New(mem.Options{Leak: level})
		s := a.Slab(4096)
		place := &s.Bytes()[0]
		b := s.Cut(0, 10)
		parked := s.Park()
		if s.Valid() {
			t.Error("the slab is valid after Park")
		}
		for range 3 {
			if s = mem.Unpark(parked); !s.Valid() {
				t.Fatalf("level %v: Unpark fails while a cut holds the block", level)
			}
			if &s.Bytes()[0] != place || !s.Shared() {
				t.Errorf("level %v: the slab has another block, or is not shared", level)
			}
			c := s.Cut(10, 10)
			b.Release()
			b = c
			parked = s.Park()
		}
		b.Release()
		if again := mem.Unpark(parked); again.Valid() {
			t.Errorf("level %v: Unpark succeeds after the last Release", level)
		}
		if again := mem.Unpark(hooks.Parked{}); again.Valid() {
			t.Error("the zero Parked was unparked")
		}
		if out, leaks := a.Stats().CheckedOut, a.Leaks(); out != 0 || len(leaks) != 0 && level >= mem.LeakTrace {
			t.Errorf("level %v: %d blocks are out, %d references outstanding", level, out, len(leaks))
		}
	}
}

func TestUnparkFailsWhenTheBlockHasANewOwner(t *testing.T) {
	a := mem.New(mem.Options{})
	s := a.Slab(4096)
	parked := s.Park()
	next := a.Get(4096)
	defer next.Release()
	if again := mem.Unpark(parked); again.Valid() {
		t.Error("Unpark took a block that was handed out again")
	}
	if next.Holders() != 1 {
		t.Errorf("the new owner's block has %d references", next.Holders())
	}
}

func TestAParkedSlabHoldsNoMemory(t *testing.T) {
	a := mem.New(mem.Options{})
	s := a.Slab(1 << 20)
	b := s.Cut(0, 10)
	parked := s.Park()
	runtime.GC()
	runtime.GC()
	s = mem.Unpark(parked)
	ok := s.Valid()
	if !ok {
		t.Fatal("the collector took a block that a cut holds")
	}
	parked = s.Park()
	b.Release()
	a.Trim()
	eventuallyCollected(t, "the collector has the block", func() bool {
		if again := mem.Unpark(parked); again.Valid() {
			t.Fatal("Unpark succeeds after the last Release")
		}
		return a.Stats().IdleBytes == 0
	})
	runtime.KeepAlive(parked)
}

// The last Release and Unpark race for the block: one of them gets it, and the
// accounting shows which.
func TestUnparkAgainstTheLastRelease(t *testing.T) {
	rounds := 50_000
	if sys.Race || invariant.Enabled {
		rounds = 1000
	}
	a := mem.New(mem.Options{Budget: 1 << 20})
	var turn atomic.Int64 // even: ours; odd: the releaser's
	var b mem.Buf
	var end sync.WaitGroup
	end.Go(func() {
		for i := range rounds {
			for spin := 1; turn.Load() != int64(2*i+1); spin++ {
				if spin%1000 == 0 {
					runtime.Gosched()
				}
			}
			b.Release()
			turn.Add(1)
		}
	})
	won := 0
	for i := range rounds {
		s := a.Slab(512)
		b = s.Cut(0, 10)
		parked := s.Park()
		turn.Add(1)
		for range i % 200 { // another moment each time
			turn.Load()
		}
		s = mem.Unpark(parked)
		ok := s.Valid()
		for turn.Load() != int64(2*i+2) {
			runtime.Gosched()
		}
		out := 0
		if ok {
			out, won = 1, won+1
			if s.Shared() {
				t.Fatal("the unparked slab is shared after the last cut's Release")
			}
		}
		if st := a.Stats(); st.CheckedOut != out || st.PinnedBytes != 0 {
			t.Fatalf("unparked: %v, and %d blocks are out, %d bytes pinned", ok, st.CheckedOut, st.PinnedBytes)
		}
		if ok {
			s.Release()
		}
	}
	end.Wait()
	t.Logf("Unpark won %d of %d", won, rounds)
}

// TestIdleBlockKeepsFewCells, however many parts it was cut into, and in whatever order those
// and the Slab are released.
func TestIdleBlockKeepsFewCells(t *testing.T) {
	for _, last := range []string{"Slab", "Buf"} {
		a := mem.New(mem.Options{})
		s := a.Slab(8 << 10)
		bufs := make([]mem.Buf, 8<<10)
		for i := range bufs {
			bufs[i] = s.Cut(i, 1)
		}
		cells := mem.CellsOf(&s)
		if n := cells(); n <= mem.MostIdleCells {
			t.Fatalf("%d cells for %d parts", n, len(bufs))
		}
		if last == "Buf" {
			s.Release()
		}
		for i := range bufs {
			bufs[i].Release()
		}
		if last == "Slab" {
			s.Release()
		}
		if n := cells(); n > mem.MostIdleCells {
			t.Errorf("%s last: %d cells are kept, at most %d", last, n, mem.MostIdleCells)
		}
	}
}
