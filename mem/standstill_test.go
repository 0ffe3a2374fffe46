package mem_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/mem"
)

// What is kept outside of waits comes back soon, as a rule, and only where it does not it is a
// reason for an overdraft.
func TestWhatIsKeptCountsWhenTheQueueStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, halves := half(t, 2)
		a.Keep(3 * 2048)
		first, second := await(a, 4096, 0), await(a, 4096, 0)
		time.Sleep(mem.StandTime - time.Millisecond)
		halves[0].Release() // not enough: the queue stands
		synctest.Wait()
		if len(first) != 0 {
			t.Fatal("served at once")
		}
		start := time.Now()
		a1 := <-first
		a2 := <-second
		if d := time.Since(start); d < time.Millisecond || d > 50*time.Millisecond {
			t.Errorf("both were served after %v", d)
		}
		a1.Release()
		a2.Release()
		// The queue is empty: the next one waits as long.
		third := await(a, 4096, 0)
		start = time.Now()
		a3 := <-third
		if d := time.Since(start); d != mem.StandTime {
			t.Errorf("the next one was served after %v", d)
		}
		a3.Release()
		for i := range halves[1:] {
			halves[1+i].Release()
		}
		a.Keep(-3 * 2048)
		settled(t, a)
	})
}

func TestRoomThatComesBackIsNoStandstill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, halves := half(t, 2)
		a.Keep(4 * 2048)
		var got []<-chan mem.Slab
		for range 4 {
			got = append(got, await(a, 2048, 0))
		}
		for i := range halves {
			time.Sleep(mem.StandTime - time.Millisecond)
			if len(got[i]) != 0 {
				t.Fatal("served over the limit")
			}
			halves[i].Release()
			s := <-got[i]
			defer s.Release()
		}
		a.Keep(-4 * 2048)
	})
}

func TestMoreTakenFromWhatIsKeptThanWasAddedPanics(t *testing.T) {
	a := mem.New(mem.Options{Budget: 4096})
	a.Keep(100)
	mustPanic(t, "keep", func() { a.Keep(-101) }, "mem: Allocator.keep(-101): -1 bytes are left")
	b := mem.New(mem.Options{})
	b.Keep(-1) // no budget, no figures
}
