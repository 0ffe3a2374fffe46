package mem_test

import (
	"testing"

	"github.com/sluice-go/sluice/internal/invariant"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

func TestEachCheckoutIsANewGeneration(t *testing.T) {
	if sys.Race || invariant.Enabled {
		t.Skip("the next Get need not have the same block in this build")
	}
	steady(t)
	a := mem.New(mem.Options{})
	b := a.Get(1000)
	place, first := &b.Bytes()[0], b.Generation()
	for i := uint32(1); i <= 3; i++ {
		b.Release()
		b = a.Get(1000)
		if &b.Bytes()[0] != place {
			t.Fatal("the block that came home is not the next to go out")
		}
		if b.Generation() != first+i {
			t.Errorf("checkout %d is of generation %d, the first was of %d", i, b.Generation(), first)
		}
	}
	b.Release()
}

func TestABlockWhoseGenerationWouldWrapIsDropped(t *testing.T) {
	for _, budget := range []int64{0, 1 << 20} {
		a := mem.New(mem.Options{Budget: budget})
		b := a.Get(1000).AtGeneration(mem.LastGeneration)
		place := &b.Bytes()[0]
		other := b.Retain()
		b.Release()
		if &other.Bytes()[0] != place || a.Stats().CheckedOut != 1 {
			t.Error("the block went while somebody held it")
		}
		stale := other
		other.Release()
		mustPanic(t, "Bytes of a Buf of the last generation", func() { stale.Bytes() }, "mem: Buf.Bytes: ")
		if s := a.Stats(); s.CheckedOut != 0 || s.IdleBytes != 0 || s.Budget.Charged != 0 || s.Forgotten != 0 {
			t.Errorf("the books after a block was dropped: %+v", s)
		}
		for range 100 {
			n := a.Get(1000)
			if &n.Bytes()[0] == place {
				t.Fatal("the block is handed out again")
			}
			defer n.Release()
		}
		if h, m := a.Stats().Hits, a.Stats().Misses; h != 0 || m != 101 {
			t.Errorf("%d hits and %d misses, want 0 and 101", h, m)
		}
	}
}

func TestABlockOneGenerationBeforeTheLastIsPooled(t *testing.T) {
	if sys.Race || invariant.Enabled {
		t.Skip("the next Get need not have the same block in this build")
	}
	steady(t)
	a := mem.New(mem.Options{})
	b := a.Get(1000).AtGeneration(mem.LastGeneration - 1)
	place := &b.Bytes()[0]
	stale := b
	b.Release()
	b = a.Get(1000)
	if &b.Bytes()[0] != place || b.Generation() != mem.LastGeneration {
		t.Fatalf("another block, or of generation %d", b.Generation())
	}
	mustPanic(t, "a Buf of the generation before the last", func() { stale.Retain() }, "mem: Buf.Retain: ")
	b.Release()
	if s := a.Stats(); s.CheckedOut != 0 || s.IdleBytes != 0 {
		t.Errorf("the books after a block was dropped: %+v", s)
	}
}
