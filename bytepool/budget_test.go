package bytepool_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/bytepool"
	"github.com/sluice-go/sluice/internal/sys"
)

func mustGet(t *testing.T, p *bytepool.BudgetPool) []byte {
	t.Helper()
	b, err := p.TryGet()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBudgetBoundsWhatIsLent(t *testing.T) {
	// 10 KiB and a bit: ten slices of 1 KiB, the rest is too small for a slice.
	p := bytepool.NewBudgetPool(10<<10+1000, 10, 1<<10)
	for range 10 {
		mustGet(t, p)
	}
	b, err := p.TryGet()
	if b != nil || !errors.Is(err, bytepool.ErrBudget) {
		t.Fatalf("the eleventh slice: %v, error %v", b, err)
	}
	for _, part := range []string{"bytepool: ", "1024 bytes wanted", "10240 lent", "11240 allowed"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
	want := bytepool.BudgetStats{Budget: 11240, Lent: 10240, Refused: 1}
	if got := p.Stats(); got != want {
		t.Errorf("Stats are %+v, want %+v", got, want)
	}
}

func TestBudgetRefusalAllocatesNothing(t *testing.T) {
	if sys.Race {
		t.Skip("counts differ under the race detector")
	}
	p := bytepool.NewBudgetPool(8, 8, 8)
	mustGet(t, p)
	if n := testing.AllocsPerRun(100, func() { p.TryGet() }); n != 0 {
		t.Fatalf("a refused TryGet allocates %v times", n)
	}
}

func TestBudgetPoolKnowsItsSlices(t *testing.T) {
	p := bytepool.NewBudgetPool(64, 8, 32)
	b := mustGet(t, p)
	for name, x := range map[string][]byte{
		"nil":                        nil,
		"foreign, of equal capacity": make([]byte, 8, 32),
		"tail":                       b[1:],
		"clipped":                    b[:8:8],
	} {
		if p.Put(x) {
			t.Errorf("Put took the slice %q", name)
		}
	}
	if s := p.Stats(); s.Lent != 32 || s.Idle != 0 {
		t.Fatalf("refused Puts changed the books: %+v", s)
	}
	if !p.Put(b[:0]) {
		t.Fatal("Put refused a slice that was lent")
	}
	if p.Put(b) {
		t.Fatal("Put took the same slice twice")
	}
	if s := p.Stats(); s.Lent != 0 || s.Idle != 32 {
		t.Fatalf("after Put: %+v", s)
	}
	if got := mustGet(t, p); array(got) != array(b) || len(got) != 8 {
		t.Fatal("TryGet made a new slice while one was idle")
	}
}

func TestGetOrMakeGoesOutsideWhenAllIsLent(t *testing.T) {
	p := bytepool.NewBudgetPool(64, 8, 32)
	var pooled, outside int
	var all [][]byte
	for range 5 {
		b := p.GetOrMake()
		if len(b) != 8 || cap(b) != 32 {
			t.Fatalf("GetOrMake returned length %d, capacity %d", len(b), cap(b))
		}
		all = append(all, b)
	}
	if s := p.Stats(); s.Lent != 64 || s.Outside != 3 || s.Refused != 0 {
		t.Fatalf("Stats are %+v", s)
	}
	for _, b := range all {
		if p.Put(b) {
			pooled++
		} else {
			outside++
		}
	}
	if pooled != 2 || outside != 3 {
		t.Fatalf("%d slices were taken back and %d refused, want 2 and 3", pooled, outside)
	}
	if s := p.Stats(); s.Lent != 0 || s.Idle != 64 {
		t.Fatalf("the pool grew beyond its budget: %+v", s)
	}
}

func TestTrimGivesIdleSlicesUp(t *testing.T) {
	p := bytepool.NewBudgetPool(96, 8, 32)
	a, b, c := mustGet(t, p), mustGet(t, p), mustGet(t, p)
	p.Put(a)
	p.Put(b)
	if n := p.Trim(); n != 64 {
		t.Fatalf("Trim returned %d, want 64", n)
	}
	if s := p.Stats(); s.Idle != 0 || s.Lent != 32 {
		t.Fatalf("after Trim: %+v", s)
	}
	if p.Put(a) {
		t.Fatal("Put took a slice that was put before")
	}
	if !p.Put(c) {
		t.Fatal("Put refused a slice that was lent during Trim")
	}
}

func TestWaitersAreServedInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := bytepool.NewBudgetPool(16, 8, 8)
		a, b := mustGet(t, p), mustGet(t, p)
		served := make(chan int, 3)
		got := make([][]byte, 3)
		for i := range got {
			go func() {
				x, err := p.GetContext(t.Context())
				if err != nil {
					t.Error(err)
				}
				got[i] = x
				served <- i
			}()
			synctest.Wait()
		}
		if s := p.Stats(); s.Waiting != 3 || s.Lent != 16 {
			t.Fatalf("with three waiters: %+v", s)
		}
		p.Put(a)
		if i := <-served; i != 0 || array(got[0]) != array(a) {
			t.Fatalf("the first slice went to waiter %d", i)
		}
		if _, err := p.TryGet(); !errors.Is(err, bytepool.ErrBudget) {
			t.Fatalf("TryGet overtook two waiters: %v", err)
		}
		p.Put(b)
		if i := <-served; i != 1 || array(got[1]) != array(b) {
			t.Fatalf("the second slice went to waiter %d", i)
		}
		p.Put(got[0])
		if i := <-served; i != 2 {
			t.Fatalf("the third slice went to waiter %d", i)
		}
		if s := p.Stats(); s.Waiting != 0 || s.Lent != 16 || s.Idle != 0 {
			t.Fatalf("at the end: %+v", s)
		}
	})
}

func TestGetContextEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := bytepool.NewBudgetPool(8, 8, 8)
		held := mustGet(t, p)

		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := p.GetContext(ctx)
		if !errors.Is(err, bytepool.ErrBudget) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("after the time limit: %v", err)
		}

		reason := errors.New("the viewer left")
		because, giveUp := context.WithCancelCause(t.Context())
		giveUp(reason)
		_, err = p.GetContext(because)
		if !errors.Is(err, bytepool.ErrBudget) || !errors.Is(err, reason) {
			t.Fatalf("with a cancelled context: %v", err)
		}
		if s := p.Stats(); s.Waiting != 0 || s.Refused != 2 {
			t.Fatalf("who gave up is still waiting: %+v", s)
		}

		// A slice is free, so the call does not wait.
		p.Put(held)
		if _, err = p.GetContext(because); err != nil {
			t.Fatalf("with an idle slice: %v", err)
		}
	})
}

func TestWhoGivesUpLeavesTheQueueToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := bytepool.NewBudgetPool(8, 8, 8)
		held := mustGet(t, p)
		ctx, cancel := context.WithCancel(t.Context())
		go p.GetContext(ctx)
		synctest.Wait()
		served := make(chan []byte)
		go func() {
			b, _ := p.GetContext(t.Context())
			served <- b
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		p.Put(held)
		if b := <-served; array(b) != array(held) {
			t.Fatal("the second waiter did not get the slice")
		}
	})
}

// The context ends first, the slice comes before the waiter could look: it
// may take it or refuse it, but not lose it.
func TestSliceHandedOverToALeavingWaiterIsNotLost(t *testing.T) {
	var took, left int
	for range 3000 {
		p := bytepool.NewBudgetPool(8, 8, 8)
		held := mustGet(t, p)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() {
			b, err := p.GetContext(ctx)
			if err == nil {
				p.Put(b)
			}
			done <- err
		}()
		for p.Stats().Waiting == 0 {
			runtime.Gosched()
		}
		cancel()
		p.Put(held)
		if err := <-done; err == nil {
			took++
		} else {
			left++
		}
		if s := p.Stats(); s.Lent != 0 || s.Idle != 8 || s.Waiting != 0 {
			t.Fatalf("after %d waiters that took the slice and %d that left: %+v", took, left, s)
		}
	}
	t.Logf("%d waiters took the slice, %d left", took, left)
}

// Contexts end while slices are handed over: neither a slice nor its room in
// the budget may be lost, and the budget is never exceeded.
func TestBudgetIsWholeAfterAStorm(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	const limit, capacity = 4, 32
	p := bytepool.NewBudgetPool(limit*capacity, capacity, capacity)
	var wg sync.WaitGroup
	for g := range 12 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(g)))
			for range 500 {
				var b []byte
				var err error
				switch rnd.IntN(4) {
				case 0:
					b, err = p.TryGet()
				case 1:
					b = p.GetOrMake()
				default:
					ctx, cancel := context.WithCancel(context.Background())
					if rnd.IntN(2) == 0 {
						wg.Go(cancel)
					}
					b, err = p.GetContext(ctx)
					cancel()
				}
				if err != nil {
					if !errors.Is(err, bytepool.ErrBudget) {
						t.Errorf("seed %d: %v", seed, err)
					}
					continue
				}
				for i := range b {
					b[i] = byte(g)
				}
				if s := p.Stats(); s.Lent+s.Idle > s.Budget {
					t.Errorf("seed %d: budget exceeded: %+v", seed, s)
				}
				if rnd.IntN(50) == 0 {
					p.Trim()
				}
				for _, x := range b {
					if x != byte(g) {
						t.Errorf("seed %d: slice of goroutine %d was written by %d", seed, g, x)
					}
				}
				p.Put(b)
			}
		})
	}
	wg.Wait()
	if s := p.Stats(); s.Lent != 0 || s.Waiting != 0 {
		t.Fatalf("seed %d: after the storm: %+v", seed, s)
	}
	for i := range limit {
		if _, err := p.TryGet(); err != nil {
			t.Fatalf("seed %d: slice %d of %d after the storm: %v", seed, i, limit, err)
		}
	}
}

// A caller without a context panics at once, whether a slice is free or not, and keeps no
// place in the queue: the slice that came next would have no owner.
func TestBudgetPoolOfANilContext(t *testing.T) {
	p := bytepool.NewBudgetPool(8, 8, 8)
	var none context.Context
	panics := func() (what any) {
		defer func() { what = recover() }()
		p.GetContext(none)
		return nil
	}
	free := panics()
	b, err := p.TryGet()
	if err != nil {
		t.Error("after a call without a context, with a free slice:", err)
	}
	const want = "bytepool: BudgetPool.GetContext: nil context"
	if lent := panics(); free != want || lent != want {
		t.Errorf("without a context it panics with %v, and when all are lent with %v; want %q", free, lent, want)
	}
	p.Put(b)
	if s := p.Stats(); s.Lent != 0 || s.Waiting != 0 {
		t.Errorf("after Put: %+v", s)
	}
}
