package proc

import (
	"runtime"
	"time"
)

// Usage is what the calling process has used since it began, its allocations too, at a
// moment. The processor's time is taken twice, before and after the rest: what ends here
// uses Until, what begins here From.
type Usage struct {
	Until, From time.Duration // user and system
	Mallocs     uint64
	Bytes       uint64 // allocated
	GCs         uint32 // collections that the runtime started by itself
}

// Work is what was used between two moments.
type Work struct {
	CPU     time.Duration
	Mallocs uint64
	Bytes   uint64
	GCs     uint32
}

// To is what was used from u to a later moment.
func (u Usage) To(later Usage) Work {
	return Work{later.Until - u.From, later.Mallocs - u.Mallocs, later.Bytes - u.Bytes, later.GCs - u.GCs}
}

// And is what was spent in two parts together.
func (w Work) And(next Work) Work {
	return Work{w.CPU + next.CPU, w.Mallocs + next.Mallocs, w.Bytes + next.Bytes, w.GCs + next.GCs}
}

// A Meter reads the Usage. It allocates nothing, so that it does not count itself.
type Meter struct{ memory runtime.MemStats }

// Read stops the world for the allocator's counters, which is left out of the
// processor's time on either side.
func (m *Meter) Read() (u Usage) {
	u.Until, _ = CPU(0) // of this process it does not fail
	runtime.ReadMemStats(&m.memory)
	u.Mallocs, u.Bytes, u.GCs = m.memory.Mallocs, m.memory.TotalAlloc, m.memory.NumGC-m.memory.NumForcedGC
	u.From, _ = CPU(0)
	return u
}
