package mem_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/sluice-go/sluice/internal/invariant"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

// References that are taken one at a time, or a few at once, beyond those of
// the cell itself, share cells as those of one Share do.
func TestFurtherReferencesShareCells(t *testing.T) {
	const holders = 1000
	for name, take := range map[string]func(b mem.Buf, dst []mem.Buf){
		"Retain":      func(b mem.Buf, dst []mem.Buf) { dst[0] = b.Retain() },
		"Share of 1":  func(b mem.Buf, dst []mem.Buf) { b.Share(dst[:1]) },
		"Share of 3":  func(b mem.Buf, dst []mem.Buf) { b.Share(dst[:min(len(dst), 3)]) },
		"Share of 20": func(b mem.Buf, dst []mem.Buf) { b.Share(dst[:min(len(dst), 20)]) },
	} {
		for _, kind := range bufKinds {
			a := mem.New(mem.Options{})
			b := kind.make(a)
			held := make([]mem.Buf, holders)
			for i := range held {
				if held[i] == (mem.Buf{}) {
					take(b, held[i:])
				}
			}
			if n := b.Children(); n > holders/(mem.MaxHolders-1)*2 {
				t.Errorf("%s, %s: %d references have %d cells", name, kind.name, holders, n)
			}
			for i := range held {
				held[i].Release()
			}
			if n := b.Children(); n > 1 {
				t.Errorf("%s, %s: %d cells remain, of %d references none", name, kind.name, n, holders)
			}
			b.Release()
			if n := a.Stats().CheckedOut; n != 0 {
				t.Errorf("%s, %s: %d blocks are out", name, kind.name, n)
			}
		}
	}
}

// The references of one frame that come and go, one at a time, for as long as
// it is held, neither gather cells nor allocate.
func TestReferencesThatComeAndGoTakeNoMemory(t *testing.T) {
	for _, kind := range bufKinds {
		a := mem.New(mem.Options{})
		b := kind.make(a)
		if n := testing.AllocsPerRun(100, func() {
			for range 10 * mem.MaxHolders {
				c := b.Retain()
				c.Release()
			}
		}); n >= 1 && !(sys.Race || invariant.Enabled) {
			t.Errorf("%s: %.0f allocations for %d references", kind.name, n, 10*mem.MaxHolders)
		}
		if n := b.Children(); n > 1 {
			t.Errorf("%s: %d cells remain", kind.name, n)
		}
		b.Release()
		if n := a.Stats().CheckedOut; n != 0 {
			t.Errorf("%s: %d blocks are out", kind.name, n)
		}
	}
}

// Many goroutines take references of one frame from references of it and let
// them go in any order, the first one too: each sees the frame's bytes, and the
// block goes home with the last.
func TestReferencesBeyondTheCellsOwnFromManyGoroutines(t *testing.T) {
	rounds := 200
	if sys.Race {
		rounds = 50
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, kind := range bufKinds[:6] {
		a := mem.New(mem.Options{})
		for round := range rounds {
			b := kind.make(a)
			copy(b.Bytes(), []byte{byte(round), 2, 3, 4})
			want := slices.Clone(b.Bytes()[:4])
			var all sync.WaitGroup
			for i := range 4 {
				mine := []mem.Buf{b.Retain()}
				r := rand.New(rand.NewPCG(seed, uint64(4*round+i)))
				all.Go(func() {
					for step := range 120 {
						k := r.IntN(len(mine))
						if !slices.Equal(mine[k].Bytes()[:4], want) {
							t.Error("the bytes are another frame's")
						}
						switch {
						case len(mine) > 1 && (r.IntN(2) == 0 || step > 90):
							mine[k].Release()
							mine = slices.Delete(mine, k, k+1)
						case r.IntN(4) == 0:
							at := len(mine)
							mine = append(mine, make([]mem.Buf, 1+r.IntN(12))...)
							mine[k].Share(mine[at:])
						default:
							mine = append(mine, mine[0].Retain())
						}
					}
					for k := range mine {
						mine[k].Release()
					}
				})
			}
			b.Release()
			all.Wait()
			if n := a.Stats().CheckedOut; n != 0 {
				t.Fatalf("%s, round %d: %d blocks are out", kind.name, round, n)
			}
		}
	}
}

// Retain beside the Release of a copy of the same reference is a caller's error.
// One of the two is first; either way the block goes home when all Bufs that
// were returned are released.
func TestRetainBesideTheReleaseOfACopy(t *testing.T) {
	a := mem.New(mem.Options{})
	for round := range 2000 {
		b := a.Get(100)
		for range mem.MaxHolders + round%20 {
			c := b.Retain()
			c.Release()
		}
		c := b
		var got mem.Buf
		var all sync.WaitGroup
		all.Go(func() { panicOf(func() { got = b.Retain() }) })
		c.Release()
		all.Wait()
		if got != (mem.Buf{}) {
			got.Release()
		}
		if n := a.Stats().CheckedOut; n != 0 {
			t.Fatalf("round %d: %d blocks are out", round, n)
		}
	}
}
