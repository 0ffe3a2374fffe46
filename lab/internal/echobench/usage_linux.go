package echobench

import (
	"math"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/sluice-go/sluice/lab/internal/rawio"
)

// ownCPU is the user and system time of all threads of this process.
func ownCPU() time.Duration {
	t, _ := rawio.CPUTime(0) // of this process it does not fail
	return t
}

// A meter measures what this process has used. It allocates nothing, so that its
// own allocations are not counted.
type meter struct{ memory runtime.MemStats }

// read stops the world for the allocator's counters, which is left out of the
// processor's time on either side.
func (m *meter) read() Usage {
	before := ownCPU()
	runtime.ReadMemStats(&m.memory)
	return Usage{
		Until: before, Mallocs: m.memory.Mallocs, Bytes: m.memory.TotalAlloc, GCs: m.memory.NumGC - m.memory.NumForcedGC,
		From: ownCPU(),
	}
}

// resident returns the bytes of this process that are in memory, after it has
// given back what it does not need.
func resident() (int64, error) {
	debug.FreeOSMemory()
	debug.FreeOSMemory() // what finalizers and pools let go of in between
	return rawio.Resident(0)
}

// settled returns the bytes in live objects and in stacks after collections, which also
// empty all pools, once two readings differ by less than one byte for each of n
// connections: a goroutine that has just answered may not be waiting again yet. After
// 20 readings it takes the last.
func settled(n int) (now int64) {
	var m runtime.MemStats
	for i, last := 0, int64(math.MinInt64); i < 20; i, last = i+1, now {
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		if now = int64(m.HeapAlloc + m.StackInuse); i > 0 && max(now-last, last-now) < int64(max(n, 1)) {
			break
		}
	}
	return now
}
