package sluice_test

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

const fairFrame = 16 << 10

// flood writes frames to a new connection until it is closed, and returns its
// other end.
func flood(t *testing.T) (near interface {
	Read([]byte) (int, error)
	Close() error
}) {
	a, b := tcpPair(t)
	frame := testData(fairFrame)
	goTest(t, func() {
		for {
			if _, err := b.Write(frame); err != nil {
				return
			}
		}
	})
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	return a
}

// TestReadersOnABudgetGetTheirShare: a budget that is a quarter of what all
// readers would like to have. There have to be many frames for each: without a
// budget, too, a goroutine that always has bytes runs for some 10 ms at a time.
func TestReadersOnABudgetGetTheirShare(t *testing.T) {
	const readers = 64
	frames, rounds := int64(100_000), 5
	if sys.Race || testing.Short() {
		frames, rounds = 8000, 1
	}
	a := mem.New(mem.Options{Name: "fair", Budget: 1 << 20})
	counts := make([]int64, readers)
	for round := 1; ; round++ {
		var sum atomic.Int64
		var group sync.WaitGroup
		start := make(chan struct{})
		for i := range counts {
			near := flood(t)
			group.Go(func() {
				r := sluice.NewBufReader(near, sluice.Options{Allocator: a})
				// One that stops here would keep its part of a frame from others.
				defer r.Recycle()
				<-start
				for sum.Load() < frames {
					b, err := r.ReadBuf(fairFrame)
					if err != nil {
						t.Errorf("reader %d, frame %d: %v", i, counts[i], err)
						return
					}
					b.Release()
					counts[i]++
					sum.Add(1)
				}
			})
		}
		close(start)
		within(t, "reading by 64", group.Wait)
		sorted := slices.Sorted(slices.Values(counts))
		least, median := sorted[0], sorted[readers/2]
		t.Logf("least %d, median %d, most %d", least, median, sorted[readers-1])
		if t.Failed() || median > 0 && 2*least >= median {
			break
		}
		if round == rounds {
			if rounds > 1 { // or there were too few to say
				t.Errorf("the least has got %d frames, the median %d", least, median)
			}
			break
		}
	}
	if s := a.Stats(); s.CheckedOut != 0 || s.Budget.Waiting != 0 || s.Budget.Overdraft != 0 {
		t.Errorf("%d blocks are out, %+v", s.CheckedOut, s.Budget)
	}
}

// TestSlowPeersDoNotLockOthersOut: each of them has sent half a frame, and all
// of them together more than the budget.
func TestSlowPeersDoNotLockOthersOut(t *testing.T) {
	if testing.Short() {
		t.Skip("overdrafts for so many take seconds")
	}
	const slow, fast = 200, 4
	frames := 50
	if sys.Race || testing.Short() {
		frames = 20
	}
	a := mem.New(mem.Options{Name: "slow", Budget: 1 << 20})
	var ends sync.WaitGroup
	var closers []func()
	for range slow {
		near, far := tcpPair(t)
		write(t, far, string(make([]byte, fairFrame/2)))
		ends.Go(func() {
			r := sluice.NewBufReader(near, sluice.Options{Allocator: a})
			defer r.Recycle()
			if _, err := r.ReadBuf(fairFrame); err == nil || errors.Is(err, mem.ErrBudget) && !isClosed(err) {
				t.Errorf("half a frame: %v", err)
			}
		})
		closers = append(closers, func() { _, _ = near.Close(), far.Close() })
	}
	var group sync.WaitGroup
	for i := range fast {
		near := flood(t)
		group.Go(func() {
			r := sluice.NewBufReader(near, sluice.Options{Allocator: a})
			defer r.Recycle()
			for k := range frames {
				b, err := r.ReadBuf(fairFrame)
				if err != nil {
					t.Errorf("fast reader %d, frame %d: %v", i, k, err)
					return
				}
				b.Release()
			}
		})
	}
	within(t, "reading beside slow peers", group.Wait)
	t.Logf("%+v", a.Stats().Budget)
	for _, end := range closers {
		end()
	}
	within(t, "the end of the slow ones", ends.Wait)
	if n := a.Stats().OutBytes; n != 0 {
		t.Errorf("%d bytes are checked out", n)
	}
}
