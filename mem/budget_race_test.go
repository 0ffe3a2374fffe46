package mem_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// ledger keeps an account of its own of what is out.
type ledger struct {
	a    *mem.Allocator
	out  atomic.Int64
	most atomic.Int64
}

func (l *ledger) took(b mem.Buf) {
	out := l.out.Add(int64(b.BlockSize()))
	for m := l.most.Load(); out > m && !l.most.CompareAndSwap(m, out); m = l.most.Load() {
	}
}

func (l *ledger) release(b *mem.Buf) {
	l.out.Add(-int64(b.BlockSize()))
	b.Release()
}

// settled checks what must hold when all is back.
func (l *ledger) settled(t *testing.T) {
	t.Helper()
	for size := 256; size <= 4<<20; size *= 2 {
		if _, missed := l.a.Gauges(size); missed {
			t.Errorf("a charged block of %d bytes would not be found when charges are called in", size)
		}
	}
	l.a.Trim()
	s := l.a.Stats()
	if s.CheckedOut != 0 || s.Budget.Waiting != 0 {
		t.Errorf("%d blocks are out and %d wait when all is back", s.CheckedOut, s.Budget.Waiting)
	}
	if s.Budget.Charged != 0 {
		t.Errorf("%d bytes are charged when all is back", s.Budget.Charged)
	}
	if l.out.Load() != 0 {
		t.Errorf("the test's own account is at %d", l.out.Load())
	}
}

func TestTheBudgetHoldsAgainstManyGoroutines(t *testing.T) {
	const workers = 8
	seed := sluicetest.Seed(t)
	steps := 5000
	if sys.Race {
		steps = 1000
	}
	for _, limit := range []int64{8 << 10, 100_000, 1 << 20} {
		for _, level := range []mem.Level{mem.LeakOff, mem.LeakTrace} {
			largest := 1 << 12
			l := &ledger{a: mem.New(mem.Options{Budget: limit, Leak: level})}
			var refused, collected atomic.Int64
			var end sync.WaitGroup
			passed := make(chan mem.Buf, workers) // some are released by others than took them
			for w := range workers {
				end.Go(func() {
					rnd := rand.New(rand.NewPCG(seed, uint64(w)))
					var held []mem.Buf
					for range steps {
						if rnd.IntN(3) > 0 {
							b, err := l.a.TryGet(1 + rnd.IntN(largest))
							if err == nil {
								l.took(b)
								held = append(held, b)
							} else if refused.Add(1); !errors.Is(err, mem.ErrBudget) {
								t.Error(err)
							}
						}
						if len(held) > 0 && rnd.IntN(2) == 0 {
							i := rnd.IntN(len(held))
							b := held[i]
							held[i] = held[len(held)-1]
							held = held[:len(held)-1]
							select {
							case passed <- b:
							default:
								l.release(&b)
							}
						}
						select {
						case b := <-passed:
							l.release(&b)
						default:
						}
						if rnd.IntN(2000) == 0 {
							runtime.GC()
							collected.Add(1)
						}
					}
					for i := range held {
						l.release(&held[i])
					}
				})
			}
			end.Wait()
			close(passed)
			for b := range passed {
				l.release(&b)
			}
			// One block for each processor is what TryGet states.
			if most, bound := l.most.Load(), limit+int64(runtime.GOMAXPROCS(0)*largest); most > bound {
				t.Errorf("level %v: %d bytes were out, the limit is %d and the bound %d", level, most, limit, bound)
			}
			if refused.Load() == 0 && limit < 1<<20 {
				t.Errorf("limit %d: nothing was refused, the test has no bite", limit)
			}
			t.Logf("limit %d, level %v: at most %d out, %d refused, %d collections", limit, level, l.most.Load(), refused.Load(), collected.Load())
			l.settled(t)
		}
	}
}

func TestNoWakeupIsLost(t *testing.T) {
	const workers = 16
	seed := sluicetest.Seed(t)
	steps := 500
	if sys.Race {
		steps = 150
	}
	for _, limit := range []int64{4096, 10_000, 64 << 10} {
		l := &ledger{a: mem.New(mem.Options{Budget: limit})}
		var end sync.WaitGroup
		ctx, cancel := context.WithTimeout(t.Context(), eventTimeout)
		for w := range workers {
			end.Go(func() {
				rnd := rand.New(rand.NewPCG(seed, uint64(w)))
				for i := range steps {
					b, err := l.a.GetContext(ctx, 1+rnd.IntN(4096))
					if err != nil {
						t.Errorf("worker %d, step %d of %d: %v", w, i, steps, err)
						return
					}
					l.took(b)
					for range rnd.IntN(3) {
						runtime.Gosched()
					}
					l.release(&b)
				}
			})
		}
		end.Wait()
		cancel()
		if most, bound := l.most.Load(), limit+int64(runtime.GOMAXPROCS(0)*4096); most > bound {
			t.Errorf("%d bytes were out, the limit is %d and the bound %d", most, limit, bound)
		}
		l.settled(t)
	}
}

// Cancelling races with being served. A caller that gets an error must not keep
// a charge, and a caller that is served must not lose it.
func TestCancelAgainstBeingServed(t *testing.T) {
	a, bufs := fullAllocator(t, 1, 4096)
	refusals := 0
	rounds := 2000
	if sys.Race {
		rounds = 500
	}
	for i := range rounds {
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan got, 1)
		wait(t, ctx, a, i, 4096, served)
		var end sync.WaitGroup
		if i%2 == 0 { // the goroutine that is started last usually runs first
			end.Go(bufs[0].Release)
			end.Go(cancel)
		} else {
			end.Go(cancel)
			end.Go(bufs[0].Release)
		}
		g := <-served
		end.Wait()
		if g.err != nil {
			if !errors.Is(g.err, context.Canceled) {
				t.Fatal(g.err)
			}
			refusals++
			var err error
			if bufs[0], err = a.TryGet(4096); err != nil {
				t.Fatalf("round %d: a cancelled waiter kept its charge: %v", i, err)
			}
			continue
		}
		if _, err := a.TryGet(1); err == nil {
			t.Fatalf("round %d: a served waiter has no charge", i)
		}
		bufs[0] = g.buf
	}
	t.Logf("%d of %d were refused", refusals, rounds)
	bufs[0].Release()
	(&ledger{a: a}).settled(t)
}
