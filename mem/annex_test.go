package mem_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/sluice-go/sluice/mem"
)

// manyParts is more parts than one cell counts, and than one annex beyond it.
const manyParts = 2*mem.MaxChildren + 1000

// endsClean releases all of bufs, in an order of its own, and checks that
// nothing is left.
func endsClean(t *testing.T, a *mem.Allocator, bufs []mem.Buf) {
	t.Helper()
	rand.Shuffle(len(bufs), func(i, j int) { bufs[i], bufs[j] = bufs[j], bufs[i] })
	for i := range bufs {
		bufs[i].Release()
	}
	if s := a.Stats(); s.CheckedOut != 0 {
		t.Errorf("%d blocks are out", s.CheckedOut)
	}
	if n := a.FullCells(); n != 0 {
		t.Errorf("%d full cells are remembered", n)
	}
}

// A frame of some megabytes is cut into tens of thousands of packets, and a
// message goes to as many receivers.
func TestALargeFrameIsCutIntoManyPackets(t *testing.T) {
	const packet, size = 4, manyParts * 4
	for name, whole := range map[string]func(*mem.Allocator) mem.Buf{
		"from Get": func(a *mem.Allocator) mem.Buf { return a.Get(size) },
		"from a Slab": func(a *mem.Allocator) mem.Buf {
			s := a.Slab(size)
			defer s.Release()
			return s.Cut(0, size)
		},
	} {
		for _, level := range []mem.Level{mem.LeakOff, mem.LeakTrace} {
			a := mem.New(mem.Options{Name: t.Name(), Leak: level})
			frame := whole(a)
			for i := range frame.Bytes() {
				frame.Bytes()[i] = byte(i / packet * 7)
			}
			var packets []mem.Buf
			for i := range manyParts {
				packets = append(packets, frame.RetainedSlice(i*packet, (i+1)*packet))
			}
			frame.Release()
			for i := range packets {
				if p := packets[i].Bytes(); len(p) != packet || p[0] != byte(i*7) {
					t.Fatalf("%s: packet %d: %v", name, i, p)
				}
			}
			endsClean(t, a, packets)
			if n := len(a.Leaks()); n != 0 {
				t.Errorf("%s: %d references are watched", name, n)
			}
		}
	}
}

func TestManyHoldersRetainOneByOne(t *testing.T) {
	a := mem.New(mem.Options{Name: t.Name()})
	b := a.Get(100)
	var all []mem.Buf
	for range manyParts {
		all = append(all, b.Retain())
	}
	endsClean(t, a, append(all, b))
}

func TestManyHoldersShareAtOnce(t *testing.T) {
	a := mem.New(mem.Options{Name: t.Name()})
	b := a.Get(100)
	all := make([]mem.Buf, mem.MaxChildren*mem.MaxHolders+5000)
	b.Share(all)
	endsClean(t, a, append(all, b))
}

// What a full cell refuses has changed nothing.
func TestAFullCellRefusesStaleBufs(t *testing.T) {
	a := mem.New(mem.Options{Name: t.Name()})
	b := a.Get(100)
	all := make([]mem.Buf, 0, manyParts)
	for range cap(all) {
		all = append(all, b.Retain())
	}
	copied := all[3]
	all[3].Release()
	mustPanic(t, "Retain of a copy", func() { copied.Retain() }, "mem: Buf.Retain: ")
	mustPanic(t, "RetainedSlice of a copy", func() { copied.RetainedSlice(0, 1) }, "mem: Buf.RetainedSlice: ")
	mustPanic(t, "Share of a copy", func() { copied.Share(make([]mem.Buf, 30)) }, "mem: Buf.Share: ")
	all[3] = b
	endsClean(t, a, all)
}

// Holders come and go while the cell is full, on several goroutines.
func TestAFullCellIsSharedByGoroutines(t *testing.T) {
	a := mem.New(mem.Options{Name: t.Name()})
	b := a.Get(100)
	b.AddChildren(mem.MaxChildren - 20)
	var wg sync.WaitGroup
	for g := range 4 {
		mine := b.Retain()
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			var held []mem.Buf
			for range 20_000 {
				if n := len(held); n > 0 && rng.IntN(60) < n {
					i := rng.IntN(n)
					held[i].Release()
					held[i] = held[n-1] //sluice:moved
					held = held[:n-1]
				} else {
					held = append(held, mine.RetainedSlice(1, 3))
				}
			}
			for i := range held {
				held[i].Release()
			}
			mine.Release()
		})
	}
	wg.Wait()
	b.AddChildren(-(mem.MaxChildren - 20))
	if b.Holders() != 1 || b.Children() != 0 {
		t.Errorf("%d holders and %d children are left", b.Holders(), b.Children())
	}
	endsClean(t, a, []mem.Buf{b})
}
