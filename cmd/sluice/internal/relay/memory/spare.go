package memory

import (
	"runtime/metrics"
	"time"
)

// spare decides when memory that the process has and does not use is returned to the system.
type spare struct {
	given time.Time // when it was last returned
	kept  int64     // bytes that could not be returned then, because they lie between others
}

const (
	// giveEvery is the shortest time between returns of memory to the system: each one runs
	// a garbage collection.
	giveEvery = 5 * time.Second
	// leastSpare is the least memory, in bytes, for that.
	leastSpare = 4 << 20
)

// due reports whether idle bytes are worth it. used are those of counted memory, live those
// of the collector's heap.
func (s *spare) due(now time.Time, idle, used, live int64) bool {
	s.kept = min(s.kept, idle)
	return idle-s.kept > max(leastSpare, used/2, live/2) && now.Sub(s.given) >= giveEvery
}

// returned takes note that idle bytes are left.
func (s *spare) returned(now time.Time, idle int64) { s.given, s.kept = now, idle }

// heap returns how many bytes of the collector's heap the process has but does not use, the
// garbage included, and how many were live at the latest collection. What was allocated since
// counts as garbage: sessions allocate when they begin and hardly ever after that.
func heap() (idle, live int64) {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
	}
	metrics.Read(samples)
	value := func(i int) int64 {
		if samples[i].Value.Kind() != metrics.KindUint64 {
			return 0
		}
		return int64(samples[i].Value.Uint64())
	}
	live = value(0)
	return max(value(1)-live, 0) + value(2) + value(3), live
}
