package memory

import (
	"runtime/metrics"
	"time"
)

// spare decides when memory that the process has and does not use is returned to the system.
type spare struct {
	given time.Time // when it was last returned
	kept  int64     // bytes that could not be returned then, because they lie between others

	cycles   int64 // collections when heap was last called
	running  int64 // goroutines at that time
	survived int64 // goroutines, at most, that were there at the latest collection
}

const (
	// giveEvery is the shortest time between returns of memory to the system: each one runs
	// a garbage collection.
	giveEvery = 5 * time.Second
	// leastSpare is the least memory, in bytes, for that.
	leastSpare = 4 << 20
	// perGoroutine is an estimate of what a goroutine that has ended leaves, with its stack and its
	// part of a session. Too high a one costs a collection, no more.
	perGoroutine = 32 << 10
)

// due reports whether idle bytes are worth it. used are those of counted memory, live those
// of the collector's heap.
func (s *spare) due(now time.Time, idle, used, live int64) bool {
	s.kept = min(s.kept, idle)
	return idle-s.kept > max(leastSpare, used/2, live/2) && now.Sub(s.given) >= giveEvery
}

// returned takes note that so many idle bytes could not be returned.
func (s *spare) returned(now time.Time, scattered int64) { s.given, s.kept = now, scattered }

// scattered returns how many idle bytes of the heap lie between others, which no collection
// returns. What else is idle after one has become so meanwhile, and can be returned next time.
func scattered() int64 {
	unused := []metrics.Sample{{Name: "/memory/classes/heap/unused:bytes"}}
	metrics.Read(unused)
	if unused[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(unused[0].Value.Uint64())
}

// heap returns how many bytes of the collector's heap the process has but does not use, the
// garbage included, and how many are in use, with the stacks. What was allocated since the latest collection
// counts as garbage: sessions allocate when they begin and hardly ever after that. So does a part
// for each goroutine that has ended since: when a crowd has left, nothing is allocated any more,
// and the next collection would be minutes away.
func (s *spare) heap() (idle, live int64) {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/sched/goroutines:goroutines"},
		{Name: "/memory/classes/heap/stacks:bytes"},
	}
	metrics.Read(samples)
	value := func(i int) int64 {
		if samples[i].Value.Kind() != metrics.KindUint64 {
			return 0
		}
		return int64(samples[i].Value.Uint64())
	}
	live = value(0) + value(6)
	left := min(s.ended(value(4), value(5))*perGoroutine, live)
	return max(value(1)-value(0), 0) + value(2) + value(3) + left, max(live-left, 0)
}

// ended returns how many goroutines have ended since the latest collection, after so many cycles
// and with so many that run.
func (s *spare) ended(cycles, running int64) int64 {
	if cycles != s.cycles {
		// Those that ended between the last look and the collection count, too.
		s.cycles, s.survived = cycles, max(s.running, running)
	}
	s.running = running
	return max(s.survived-running, 0)
}
