package echobench

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"github.com/sluice-go/sluice/lab/internal/proc"
)

// resident returns the bytes of this process that are in memory, after it has
// given back what it does not need.
func resident() (int64, error) {
	debug.FreeOSMemory()
	debug.FreeOSMemory() // what finalizers and pools let go of in between
	return proc.Resident(0)
}

// settled returns the bytes in live objects and in stacks after collections, which also
// empty all pools, once hardly a goroutine is on its way from an answer to its next
// wait, where it may hold a buffer, and two readings differ by less than one byte for
// each of n connections. After 100 readings it takes the last.
func settled(n int) (now int64) {
	var m runtime.MemStats
	for i, last := 0, int64(math.MinInt64); i < 100; i, last = i+1, now {
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		now = int64(m.HeapAlloc + m.StackInuse)
		if i > 0 && underWay() <= mostLoops && max(now-last, last-now) < int64(max(n, 1)) {
			break
		}
	}
	return now
}

// mostLoops is how many goroutines a server may have that sit in a system call while
// all its connections wait: its event loops.
const mostLoops = 4

func underWay() (n uint64) {
	read := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}, {Name: "/sched/goroutines/not-in-go:goroutines"}}
	metrics.Read(read)
	for _, s := range read {
		if s.Value.Kind() == metrics.KindUint64 {
			n += s.Value.Uint64()
		}
	}
	return n
}
