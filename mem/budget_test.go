package mem_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

func TestTryGetCountsCapacity(t *testing.T) {
	a := mem.New(mem.Options{Name: "small", Budget: 1500})
	b, err := a.TryGet(300) // 512 bytes
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.TryGet(257) // 512 more
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.TryGet(500)
	if !errors.Is(err, mem.ErrBudget) {
		t.Fatalf("TryGet beyond the budget: %v", err)
	}
	if want := `mem: budget of allocator "small": 512 bytes wanted, 1024 of 1500 in use`; err.Error() != want {
		t.Errorf("the error reads %q, want %q", err, want)
	}
	d, err := a.TryGet(256) // 256 fit
	if err != nil {
		t.Fatal(err)
	}
	var want mem.Stats
	want.Budget.Limit, want.Budget.Charged = 1500, 1280
	if s := a.Stats().Budget; s != want.Budget {
		t.Errorf("the budget's figures are %+v", s)
	}
	b.Release()
	c.Release()
	d.Release()
}

// Blocks exist until they are collected, and their number is not bounded by the
// budget: calling charges in must not cost more and more.
func TestBlocksWithoutAChargeAreLookedAtOnceMore(t *testing.T) {
	const n = 1000
	a := mem.New(mem.Options{Budget: n * 4096})
	bufs := make([]mem.Buf, n)
	for i := range bufs {
		var err error
		if bufs[i], err = a.TryGet(4096); err != nil {
			t.Fatal(err)
		}
	}
	for i := range bufs {
		bufs[i].Release()
	}
	large, err := a.TryGet(512 << 10) // the charges are called in
	if err != nil {
		t.Fatal(err)
	}
	defer large.Release()
	a.Reclaim()
	if looked, _ := a.Gauges(4096); looked != 0 {
		t.Errorf("%d blocks would be looked at again, and none has a charge", looked)
	}
	if s := a.Stats(); s.IdleBytes < n*4096 {
		t.Errorf("%d bytes are idle, %d are", s.IdleBytes, n*4096)
	}
}

func TestWhatCanNeverFitLeavesIdleMemoryItsCharge(t *testing.T) {
	a := mem.New(mem.Options{Budget: 64 << 10})
	b, err := a.TryGet(4096)
	if err != nil {
		t.Fatal(err)
	}
	b.Release()
	if _, err := a.TryGet(1 << 20); !errors.Is(err, mem.ErrBudget) {
		t.Errorf("TryGet of more than the budget: %v", err)
	}
	if c := a.Stats().Budget.Charged; c != 4096 {
		t.Errorf("%d bytes are charged after a request that could never fit, 4096 before", c)
	}
}

func TestIdleMemoryMakesRoomForOtherSizes(t *testing.T) {
	const limit = 1 << 20
	a := mem.New(mem.Options{Budget: limit})
	for _, size := range []int{4096, 256, 1 << 20, 65536, 512, 1 << 19} {
		var bufs []mem.Buf
		for i := range limit / size {
			b, err := a.TryGet(size)
			if err != nil {
				t.Fatalf("%d bytes, number %d: %v", size, i, err)
			}
			bufs = append(bufs, b)
		}
		for _, n := range []int{1, size} {
			if _, err := a.TryGet(n); !errors.Is(err, mem.ErrBudget) {
				t.Fatalf("the budget is full of %d bytes each, TryGet(%d): %v", size, n, err)
			}
		}
		for i := range bufs {
			bufs[i].Release()
		}
	}
}

func TestBudgetIsForMemoryAboveTheClassesToo(t *testing.T) {
	a := mem.New(mem.Options{Budget: 6 << 20})
	b, err := a.TryGet(5 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.TryGet(1<<20 + 1); !errors.Is(err, mem.ErrBudget) {
		t.Errorf("TryGet: %v", err)
	}
	b.Release()
	if s := a.Stats().Budget; s.Charged != 0 {
		t.Errorf("%d bytes are charged after the Release", s.Charged)
	}
	if b, err = a.TryGet(6 << 20); err != nil {
		t.Fatal(err)
	}
	b.Release()
	if _, err := a.TryGet(6<<20 + 1); !errors.Is(err, mem.ErrBudget) {
		t.Errorf("TryGet of more than the budget: %v", err)
	}
}

// Under pressure every Release pays for the bookkeeping, so it has to end.
func TestPressureEndsWhenAnEighthIsFree(t *testing.T) {
	a, bufs := fullAllocator(t, 8, 4096)
	if a.UnderPressure() {
		t.Error("under pressure before anybody was refused")
	}
	if _, err := a.TryGet(1); !errors.Is(err, mem.ErrBudget) || !a.UnderPressure() {
		t.Errorf("TryGet: %v, under pressure: %v", err, a.UnderPressure())
	}
	bufs[0].Release()
	if a.UnderPressure() {
		t.Error("still under pressure with an eighth free")
	}
	for i := range bufs[1:] {
		bufs[1+i].Release()
	}
}

func TestGetCountsAgainstTheBudgetAndMayExceedIt(t *testing.T) {
	a := mem.New(mem.Options{Budget: 4096})
	b := a.Get(4096)
	c := a.Get(8192)
	s := a.Slab(5 << 20)
	if got := a.Stats().Budget.Charged; got != 4096+8192+5<<20 {
		t.Errorf("%d bytes are charged", got)
	}
	if _, err := a.TryGet(1); !errors.Is(err, mem.ErrBudget) {
		t.Errorf("TryGet: %v", err)
	}
	if _, err := a.TrySlab(1); !errors.Is(err, mem.ErrBudget) {
		t.Errorf("TrySlab: %v", err)
	}
	c.Release()
	s.Release()
	b.Release()
	s, err := a.TrySlab(4096)
	if err != nil {
		t.Fatal(err)
	}
	s.Release()
}

func TestAnAllocatorWithoutBudgetRefusesNothing(t *testing.T) {
	a := mem.New(mem.Options{})
	for range 10 {
		b, err := a.TryGet(4 << 20)
		if err != nil {
			t.Fatal(err)
		}
		c, err := a.GetContext(context.Background(), 4<<20)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Release()
		defer c.Release()
	}
}

// In one goroutine TryGet is exact: it succeeds when, and only when, the
// capacity that is out leaves room, whatever was taken, released, collected
// or trimmed before.
func TestTryGetIsExactInOneGoroutine(t *testing.T) {
	rnd := rand.New(rand.NewPCG(sluicetest.Seed(t), 3))
	for _, level := range leakLevels {
		limit := int64(1<<16 + rnd.IntN(1<<20))
		a := mem.New(mem.Options{Budget: limit, Leak: level})
		var held []mem.Buf
		var out int64
		for step := range 4000 {
			what := rnd.IntN(100)
			switch {
			case what < 55:
				n := rnd.IntN(1 << (8 + rnd.IntN(12)))
				if rnd.IntN(200) == 0 {
					n = 5 << 20 // more than any limit here
				}
				get := a.TryGet
				if rnd.IntN(2) == 0 {
					done, cancel := context.WithCancel(context.Background())
					cancel() // so that it does not wait
					get = func(n int) (mem.Buf, error) { return a.GetContext(done, n) }
				}
				b, err := get(n)
				if fits := out+int64(a.Cap(n)) <= limit; fits != (err == nil) || err != nil && !errors.Is(err, mem.ErrBudget) {
					t.Fatalf("level %v, step %d: %d of %d bytes out and %d wanted: %v", level, step, out, limit, a.Cap(n), err)
				}
				if err == nil {
					held = append(held, b)
					out += int64(a.Cap(n))
				}
			case what < 57:
				n := rnd.IntN(5000)
				held = append(held, a.Get(n))
				out += int64(a.Cap(n))
			case what < 98 && len(held) > 0:
				i := rnd.IntN(len(held))
				out -= int64(held[i].BlockSize())
				held[i].Release()
				held[i] = held[len(held)-1]
				held = held[:len(held)-1]
			case what == 98 && step%10 == 0:
				runtime.GC()
			case what == 99:
				a.Trim()
			}
			if s := a.Stats(); s.OutBytes != out || s.CheckedOut != len(held) {
				t.Fatalf("level %v, step %d: %d blocks with %d bytes are out, the figures say %d and %d", level, step, len(held), out, s.CheckedOut, s.OutBytes)
			}
		}
		for i := range held {
			held[i].Release()
		}
		a.Trim()
		if c := a.Stats().Budget.Charged; c != 0 {
			t.Errorf("level %v: %d bytes are charged when all is back", level, c)
		}
	}
}
