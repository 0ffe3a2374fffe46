// Package proc reads what a process has used of the machine: its own, or
// another by its number, with those that it has started. It touches no payload bytes. Its
// functions may be called from any goroutine.
package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"time"
)

// A Reading is what a process, and those that it has started, have used since they began.
type Reading struct {
	cpu      map[int]time.Duration // of each process
	all      time.Duration         // with children that have ended
	resident int64
	queued   map[int]time.Duration // of each thread that there is; nil where that is not known
}

// Spent is what a process used between two readings.
type Spent struct {
	CPU      time.Duration  `json:"cpu_ns"`              // user and system
	Queued   *time.Duration `json:"queued_ns,omitempty"` // its threads were ready and had no processor; nil where that is not known
	Resident int64          `json:"resident"`            // bytes at the second reading, those that processes share counted for each; 0 unknown
}

// Read reads what the process with a number has used, with its descendants; for 0 the calling one, alone.
//
// On Linux it is taken from its clock and /proc: proc(5). Elsewhere the calling process
// can be read, and another gives an error that wraps errors.ErrUnsupported. A process
// that does not exist gives one that wraps fs.ErrNotExist.
func Read(pid int) (Reading, error) {
	r, err := read(pid)
	if errors.Is(err, fs.ErrNotExist) {
		return Reading{}, noProcess(pid)
	}
	if err != nil {
		return Reading{}, fmt.Errorf("proc: process %d: %w", pid, err)
	}
	return r, nil
}

type noProcess int

func (e noProcess) Error() string {
	return fmt.Sprintf("proc: there is no process %d, or it has ended", int(e))
}

func (e noProcess) Is(target error) bool { return target == fs.ErrNotExist }

// To returns what was used from r to a later reading of the same process. What threads
// waited that ended in between is lost, and what descendants used that did unless their parents have asked for their end.
func (r Reading) To(later Reading) Spent {
	s := Spent{Resident: later.resident}
	for pid, used := range later.cpu {
		s.CPU += max(0, used-r.cpu[pid])
	}
	s.CPU = max(s.CPU, later.all-r.all)
	if r.queued != nil && later.queued != nil {
		s.Queued = new(time.Duration)
		for tid, waited := range later.queued {
			*s.Queued += max(0, waited-r.queued[tid])
		}
	}
	return s
}

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
