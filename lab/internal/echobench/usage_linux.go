package echobench

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// ownCPU is the user and system time of all threads of this process.
func ownCPU() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0 // it fails on bad arguments only
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
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
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, found := bytes.Cut(status, []byte("VmRSS:"))
	number, _, ended := bytes.Cut(rest, []byte(" kB"))
	if !found || !ended {
		return 0, fmt.Errorf("echo: no resident size in %.60q", status)
	}
	kib, err := strconv.ParseInt(string(bytes.TrimSpace(number)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("echo: the resident size: %w", err)
	}
	return kib << 10, nil
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
