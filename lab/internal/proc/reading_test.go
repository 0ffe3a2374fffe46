package proc

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestThreadsThatComeAndGo runs random histories of threads. What To says is
// what the threads did that were there at the second reading, and never more than all did.
func TestThreadsThatComeAndGo(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for range 2000 {
		alive := map[int]thread{}
		for tid := range random.IntN(6) {
			alive[tid] = thread{switches{random.Uint64N(9), random.Uint64N(9)}, time.Duration(random.Int64N(9)), true}
		}
		before := map[int]thread{}
		for tid, th := range alive {
			before[tid] = th
		}
		var all, remaining switches
		var queued time.Duration
		did := map[int]thread{} // since the first reading, by those that are alive
		for range random.IntN(30) {
			tid := random.IntN(8)
			th, is := alive[tid]
			switch {
			case !is:
				alive[tid] = thread{hasQueued: true} // a new one, perhaps with an old number
				did[tid] = thread{}
			case random.IntN(5) == 0:
				delete(alive, tid)
				delete(did, tid)
			default:
				d := did[tid]
				v, i, q := random.Uint64N(5), random.Uint64N(5), time.Duration(random.Int64N(5))
				th.voluntary, th.involuntary, th.queued = th.voluntary+v, th.involuntary+i, th.queued+q
				d.voluntary, d.involuntary, d.queued = d.voluntary+v, d.involuntary+i, d.queued+q
				alive[tid], did[tid] = th, d
				all.voluntary += v
				all.involuntary += i
			}
		}
		for _, d := range did {
			remaining.voluntary += d.voluntary
			remaining.involuntary += d.involuntary
			queued += d.queued
		}
		a, b := Reading{threads: before}, Reading{threads: alive}
		s := a.To(b)
		if *s.Voluntary > all.voluntary || *s.Involuntary > all.involuntary {
			t.Fatalf("%d and %d switches, all threads together had %+v", *s.Voluntary, *s.Involuntary, all)
		}
		// A new thread with an old number and higher counts looks like the old
		// thread; then the difference is too small.
		if *s.Voluntary > remaining.voluntary || *s.Involuntary > remaining.involuntary {
			t.Fatalf("%d and %d switches, the threads that are left had %+v", *s.Voluntary, *s.Involuntary, remaining)
		}
		if len(alive) > 0 && (s.Queued == nil || *s.Queued < 0 || *s.Queued > queued) {
			t.Fatalf("waited %v, the threads that are left %v", s.Queued, queued)
		}
	}
}

func TestOneThreadThatStaysIsCountedExactly(t *testing.T) {
	a := Reading{threads: map[int]thread{1: {switches{5, 2}, 10, true}, 2: {switches{100, 100}, 100, true}}}
	b := Reading{threads: map[int]thread{1: {switches{9, 3}, 14, true}, 3: {switches{1, 1}, 1, true}}}
	if s := a.To(b); *s.Voluntary != 5 || *s.Involuntary != 2 || *s.Queued != 5 {
		t.Errorf("%d, %d, %v", *s.Voluntary, *s.Involuntary, *s.Queued)
	}
}

func TestWhatTheSystemDoesNotTellIsNil(t *testing.T) {
	s := Reading{}.To(Reading{})
	if s.Voluntary != nil || s.Involuntary != nil || s.ReadCalls != nil || s.WriteCalls != nil || s.Queued != nil {
		t.Errorf("%+v", s)
	}
	one := Reading{after: own{io: &calls{1, 1}}}
	if s := one.To(Reading{}); s.ReadCalls != nil {
		t.Errorf("%d calls from one count", *s.ReadCalls)
	}
	// Counts of a file that was another's.
	if s := one.To(Reading{before: own{io: &calls{0, 9}}}); s.ReadCalls != nil || *s.WriteCalls != 8 {
		t.Errorf("%+v", s)
	}
}

func TestANumberThatWentToAnotherProcess(t *testing.T) {
	a := Reading{pid: 7, began: 1, usage: usage{cpu: time.Second}}
	b := Reading{pid: 7, began: 2, usage: usage{cpu: 5 * time.Second, resident: 4096, threads: 2}}
	if s := a.To(b); s != (Spent{Resident: 4096, Threads: 2}) {
		t.Errorf("%+v", s)
	}
}

func TestReadingsOfDifferentProcessesPanic(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Reading{pid: 1}.To(Reading{pid: 2})
}
