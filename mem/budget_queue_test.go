package mem_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/invariant"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// While others take and release as they like, room comes in the order of
// coming: when one has been served, so have all before it.
func TestTheOrderHoldsUnderLoad(t *testing.T) {
	const (
		size    = 1024
		tickets = 16
	)
	rnd := rand.New(rand.NewPCG(sluicetest.Seed(t), 7))
	a := mem.New(mem.Options{Budget: tickets * size})
	var done atomic.Bool
	var others sync.WaitGroup
	for range 6 {
		others.Go(func() {
			for !done.Load() {
				b, err := a.TryGet(size)
				if err != nil {
					runtime.Gosched()
					continue
				}
				runtime.Gosched()
				b.Release()
			}
		})
	}
	rounds := 2000
	if sys.Race {
		// A sync.Pool drops blocks there, and until they are collected each call-in of charges
		// looks at them: many rounds would take minutes.
		rounds = 60
	}
	for range rounds {
		waiting := make([]*mem.Ticket, tickets)
		for i := range waiting {
			waiting[i] = a.Join(size)
		}
		var bufs []mem.Buf
		for len(waiting) > 0 {
			k := rnd.IntN(len(waiting))
			bufs = append(bufs, a.Claim(waiting[k], size))
			for i, w := range waiting[:k] {
				if !w.Served() {
					t.Fatalf("number %d was served before number %d", k, i)
				}
			}
			waiting = slices.Delete(waiting, k, k+1)
		}
		for i := range bufs {
			bufs[i].Release()
		}
	}
	done.Store(true)
	others.Wait()
	settled(t, a)
}

func settled(t *testing.T, a *mem.Allocator) {
	t.Helper()
	a.Trim()
	var none mem.Stats
	none.Budget.Limit = a.Stats().Budget.Limit
	if s := a.Stats(); s.Budget != none.Budget || s.CheckedOut != 0 {
		t.Errorf("when all is back: %d blocks are out, %+v", s.CheckedOut, s.Budget)
	}
}

// The room is charged for its owner from the moment of the grant, however late
// the owner takes it.
func TestRoomThatWasGrantedIsTheOwners(t *testing.T) {
	a, bufs := fullAllocator(t, 2, 4096)
	first := a.Join(4096)
	bufs[0].Release()
	if !first.Served() {
		t.Fatal("not served")
	}
	if _, err := a.TryGet(1); !errors.Is(err, mem.ErrBudget) {
		t.Errorf("somebody else has got the room: %v", err)
	}
	second := a.Join(4096)
	if second.Served() {
		t.Error("somebody else has got the room")
	}
	b := a.Claim(first, 4000)
	b.Release()
	c := a.Claim(second, 4000)
	c.Release()
	bufs[1].Release()
	settled(t, a)
}

// All goroutines use all calls at once, and some waits are stopped at any
// moment, also at the moment of a grant.
func TestAStoppedWaitLosesNoRoom(t *testing.T) {
	const workers = 16
	seed := sluicetest.Seed(t)
	steps := 1500
	if sys.Race {
		steps = 300
	}
	why := errors.New("enough")
	var stops atomic.Int64
	a := mem.New(mem.Options{Budget: 40_000})
	var end sync.WaitGroup
	for w := range workers {
		end.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(w)))
			stop := make(chan error, 1)
			for range steps {
				var first mem.Slab
				n, held := 1+rnd.IntN(8192), 0
				if s, err := a.TrySlab(1 + rnd.IntN(4096)); err == nil {
					first, held = s, len(s.Bytes())
					if rnd.IntN(4) == 0 {
						a.Idle(held)
						runtime.Gosched()
						a.Idle(-held)
					}
				}
				stopped := make(chan struct{})
				if rnd.IntN(2) == 0 {
					spin := rnd.IntN(20)
					go func() {
						for range spin {
							runtime.Gosched()
						}
						stop <- why
						close(stopped)
					}()
				} else {
					close(stopped)
				}
				s, err := a.AwaitSlab(n, held, stop)
				<-stopped
				left := len(stop) > 0
				if left {
					<-stop
				}
				switch {
				case err == nil:
					s.Release()
				case !errors.Is(err, why) || !errors.Is(err, mem.ErrBudget):
					t.Errorf("AwaitSlab: %v", err)
				case left:
					t.Error("AwaitSlab has not taken the error that it returns")
				default:
					stops.Add(1)
				}
				if first.Valid() {
					first.Release()
				}
			}
		})
	}
	end.Wait()
	if stops.Load() == 0 {
		t.Error("no goroutine was stopped: the test checks nothing")
	}
	t.Logf("%d were stopped", stops.Load())
	settled(t, a)
}

// In a bubble time stands still while any goroutine can run: an end that was
// found by polling would take time.
func TestTheEndOfAWaitIsSeenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, bufs := fullAllocator(t, 1, 4096)
		why := errors.New("deadline")
		for name, end := range map[string]func(stop chan error){
			"an error":         func(stop chan error) { stop <- why },
			"a closed channel": func(stop chan error) { close(stop) },
		} {
			stop, got := make(chan error), make(chan error)
			go func() {
				_, err := a.AwaitSlab(1, 0, stop)
				got <- err
			}()
			time.Sleep(time.Second)
			start := time.Now()
			end(stop)
			err := <-got
			if d := time.Since(start); d != 0 {
				t.Errorf("%s: it took %v", name, d)
			}
			if !errors.Is(err, mem.ErrBudget) || errors.Is(err, why) != (name == "an error") {
				t.Errorf("%s: %v", name, err)
			}
		}
		bufs[0].Release()
	})
}

// A queue that cannot be served costs nothing: after the second look for idle
// charges no timer is set.
func TestAWaitDoesNotPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, bufs := fullAllocator(t, 4, 4096)
		got := await(a, 4096, 0)
		time.Sleep(time.Second)
		if at := a.AlarmAt(); !at.IsZero() {
			t.Errorf("a second later the alarm is set for %v from now", time.Until(at))
		}
		bufs[0].Release()
		s := <-got
		s.Release()
		for i := range bufs[1:] {
			bufs[1+i].Release()
		}
	})
}

func TestAWaitAllocatesNothing(t *testing.T) {
	if sys.Race || invariant.Enabled {
		t.Skip("pools lose or hold back what is put into them in this build")
	}
	a := mem.New(mem.Options{Budget: 8192})
	pass, done := make(chan mem.Slab), make(chan struct{})
	go func() {
		defer close(done)
		for s := range pass {
			for a.Waiting() == 0 {
				runtime.Gosched()
			}
			s.Release()
		}
	}()
	slab, err := a.TrySlab(8192)
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan error)
	if n := testing.AllocsPerRun(500, func() {
		pass <- slab
		if slab, err = a.AwaitSlab(8192, 0, stop); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	close(pass)
	<-done
	slab.Release()
}

// What a grant costs with a thousand in the queue: taking a place, being
// served, taking the block and giving it back. Compare with -cpu 1, where time
// is processor time.
func BenchmarkAwaitSlab(b *testing.B) {
	const waiters = 1000
	a := mem.New(mem.Options{Budget: 4 * 4096})
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ReportAllocs()
	b.ResetTimer()
	var all sync.WaitGroup
	for range waiters {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				s, err := a.AwaitSlab(4096, 0, nil)
				if err != nil {
					b.Error(err)
					return
				}
				runtime.Gosched() // the others come to wait
				s.Release()
			}
		})
	}
	all.Wait()
}

// The same without a queue: a budget in which all have room.
func BenchmarkAwaitSlabRoom(b *testing.B) {
	a := mem.New(mem.Options{Budget: 1 << 20})
	b.ReportAllocs()
	for b.Loop() {
		s, err := a.AwaitSlab(4096, 0, nil)
		if err != nil {
			b.Fatal(err)
		}
		s.Release()
	}
}

// A block that comes home in the moment in which charges are called in may keep its charge.
// The one that waits gets it soon all the same, also when the queue looks at the time later.
func TestAChargeThatWasMissedIsCalledInSoon(t *testing.T) {
	for _, alarm := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			const size = 4096
			a := mem.New(mem.Options{Budget: size})
			held := a.Get(size)
			if alarm > 0 {
				a.SetAlarm(alarm)
			}
			began := time.Now()
			var b mem.Buf
			var err error
			var waits sync.WaitGroup
			waits.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				b, err = a.GetContext(ctx, size)
			})
			synctest.Wait()
			a.ReleaseUnseen(held)
			waits.Wait()
			if took := time.Since(began); err != nil || took > 2*mem.CallAgain {
				t.Fatalf("with an alarm in %v: after %v, %v", alarm, took, err)
			}
			b.Release()
		})
	}
}
