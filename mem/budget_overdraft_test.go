package mem_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/mem"
)

// await starts an AwaitSlab without a stop.
func await(a *mem.Allocator, n, held int) <-chan mem.Slab {
	to := make(chan mem.Slab, 1)
	go func() {
		s, err := a.AwaitSlab(n, held, nil)
		if err != nil {
			panic(err)
		}
		to <- s
	}()
	synctest.Wait()
	return to
}

// half returns an allocator of n frames of which n*2 halves are out.
func half(t *testing.T, n int) (*mem.Allocator, []mem.Slab) {
	t.Helper()
	a := mem.New(mem.Options{Name: "half", Budget: int64(n) * 4096})
	slabs := make([]mem.Slab, 2*n)
	for i := range slabs {
		var err error
		if slabs[i], err = a.TrySlab(2048); err != nil {
			t.Fatal(err)
		}
	}
	return a, slabs
}

func TestTheFirstIsLetOverTheLimitWhenAllHoldersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, halves := half(t, 3)
		start := time.Now()
		var got []<-chan mem.Slab
		for range halves {
			got = append(got, await(a, 4096, 2048))
		}
		first := <-got[0]
		if b := a.Stats().Budget; b.Waiting != 5 || b.Overdraft != 4096 || b.Charged != 4*4096 {
			t.Errorf("the first was served: %+v", b)
		}
		if len(got[1]) != 0 {
			t.Error("a second overdraft before the first came back")
		}
		first.Release()
		second := <-got[1]
		if d := time.Since(start); d != 0 {
			t.Errorf("the first came back, and the second took %v", d)
		}
		a.Idle(2048 + 4096) // its peer is slow
		third := <-got[2]
		if d := time.Since(start); d != mem.OverdraftInterval {
			t.Errorf("the overdraft beside one that stays out took %v", d)
		}
		if b := a.Stats().Budget; b.Overdraft != 2*4096 || b.Waiting != 3 || b.LongestWait != mem.OverdraftInterval {
			t.Errorf("two overdrafts are out: %+v", b)
		}
		a.Idle(-2048 - 4096)
		second.Release()
		third.Release()
		for i := range halves[:3] {
			halves[i].Release()
		}
		for i := range got[3:] {
			s := <-got[3+i]
			s.Release()
			halves[3+i].Release()
		}
		settled(t, a)
	})
}

func TestBufsThatAreKeptAreNoReasonForAnOverdraft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, halves := half(t, 2)
		got := await(a, 4096, 2048) // 6144 could come back
		time.Sleep(time.Hour)
		if len(got) != 0 {
			t.Fatal("served over the limit")
		}
		if b := a.Stats().Budget; b.LongestWait != time.Hour || b.Overdraft != 0 || b.Waiting != 1 {
			t.Errorf("after an hour: %+v", b)
		}
		halves[0].Release()
		synctest.Wait()
		if len(got) != 0 {
			t.Fatal("served over the limit")
		}
		halves[1].Release()
		s := <-got
		s.Release()
	})
}

// A reader that waits for its peer does not wait for room, so nothing but Idle
// says that its half frame will not come back.
func TestIdleReadersDoNotLockOthersOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, halves := half(t, 500)
		start := time.Now()
		fast := await(a, 4096, 0)
		for range len(halves) - 2 {
			a.Idle(2048)
		}
		synctest.Wait()
		if len(fast) != 0 {
			t.Fatal("an overdraft while two halves could come back")
		}
		a.Idle(2048)
		s := <-fast
		s.Release()
		a.Idle(2048)
		// Two slow ones go on to a whole frame each and keep it.
		var slow []mem.Slab
		for range 2 {
			a.Idle(-2048)
			slow = append(slow, <-await(a, 4096, 2048))
			a.Idle(2048 + 4096)
		}
		if d := time.Since(start); d != mem.OverdraftInterval {
			t.Errorf("two frames that stay out were granted within %v", d)
		}
		// The third waits for the interval once; from then on the fast ones
		// do not wait.
		for range 1000 {
			s := <-await(a, 4096, 0)
			if over := a.Stats().Budget.Overdraft; over != 3*4096 {
				t.Fatalf("%d bytes are overdrawn", over)
			}
			s.Release()
		}
		if d := time.Since(start); d != 2*mem.OverdraftInterval {
			t.Errorf("two slow frames and 1000 fast ones took %v", d)
		}
		for i := range slow {
			slow[i].Release()
			a.Idle(-4096)
		}
		for i := range halves {
			a.Idle(-2048)
			halves[i].Release()
		}
	})
}

func TestAThousandWithHalfAFrameEachAllFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1000
		a, halves := half(t, n/2)
		start := time.Now()
		var most int64
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range halves {
			all.Go(func() {
				whole, err := a.AwaitSlab(4096, 2048, nil)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				most = max(most, a.Stats().Budget.Overdraft)
				mu.Unlock()
				copy(whole.Bytes(), halves[i].Bytes())
				halves[i].Release()
				whole.Release()
			})
		}
		all.Wait()
		// No reader had to wait for the interval: each gives back what it got.
		if d := time.Since(start); d != 0 {
			t.Errorf("it took %v", d)
		}
		if most > 4096 {
			t.Errorf("%d bytes were overdrawn at once", most)
		}
	})
}

// TestAThousandStalledPeersDelayANewcomerBySeconds: each of them keeps what it
// gets. At one every 10 ms the newcomer would wait for 10 s.
func TestAThousandStalledPeersDelayANewcomerBySeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1000
		a, halves := half(t, n/2)
		var stalled sync.WaitGroup
		served := make(chan mem.Slab, n)
		for range halves {
			stalled.Go(func() {
				s, err := a.AwaitSlab(4096, 2048, nil)
				if err != nil {
					t.Error(err)
					return
				}
				a.Idle(2048 + 4096) // its peer sends no more
				served <- s
			})
		}
		synctest.Wait()
		start := time.Now()
		newcomer, err := a.AwaitSlab(4096, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d < time.Second || d > 4*time.Second {
			t.Errorf("the newcomer waited for %v", d)
		}
		if b := a.Stats().Budget; b.Overdraft > (n+1)*4096 || b.Waiting != 0 {
			t.Errorf("more than a frame for each: %+v", b)
		}
		stalled.Wait()
		newcomer.Release()
		for i := range halves {
			a.Idle(-2048 - 4096)
			s := <-served
			s.Release()
			halves[i].Release()
		}
	})
}

func TestMoreTakenFromIdleThanWasAddedPanics(t *testing.T) {
	a := mem.New(mem.Options{Budget: 4096})
	a.Idle(100)
	for what, call := range map[string]func(){
		"mem: Allocator.idle(-101): -1 bytes are left": func() { a.Idle(-101) },
		"mem: Allocator.awaitSlab: -1 bytes held":      func() { a.AwaitSlab(1, -1, nil) },
	} {
		func() {
			defer func() {
				if r := recover(); r != what {
					t.Errorf("panic %v, want %v", r, what)
				}
			}()
			call()
		}()
	}
	b := mem.New(mem.Options{})
	b.Idle(-1) // no budget, no figures
}

func TestAwaitSlabRefusesWhatCanNeverFit(t *testing.T) {
	a := mem.New(mem.Options{Name: "tiny", Budget: 5000})
	_, err := a.AwaitSlab(4097, 0, nil)
	if want := `mem: budget of allocator "tiny": 8192 bytes wanted, 0 of 5000 in use`; !errors.Is(err, mem.ErrBudget) || err.Error() != want {
		t.Errorf("AwaitSlab: %v, want %s", err, want)
	}
	// Without a budget there is nothing to wait for.
	b := mem.New(mem.Options{})
	s, err := b.AwaitSlab(5<<20, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Release()
}
