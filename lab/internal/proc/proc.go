// Package proc reads what a process has used of the machine: its own, or
// another by its number. It touches no payload bytes. Its functions may be
// called from any goroutine.
package proc

import (
	"fmt"
	"time"
)

// A Reading is what a process has used since it began.
type Reading struct {
	cpu      time.Duration
	resident int64
	queued   map[int]time.Duration // of each thread that there is; nil where that is not known
}

// Spent is what a process used between two readings.
type Spent struct {
	CPU      time.Duration  `json:"cpu_ns"`              // user and system
	Queued   *time.Duration `json:"queued_ns,omitempty"` // its threads were ready and had no processor; nil where that is not known
	Resident int64          `json:"resident"`            // bytes at the second reading; 0 unknown
}

// Read reads what the process with a number has used, the calling one for 0.
//
// On Linux it is taken from its clock and /proc: proc(5). Elsewhere the calling process
// can be read, and another gives an error that wraps errors.ErrUnsupported. A process
// that does not exist gives one that wraps fs.ErrNotExist.
func Read(pid int) (Reading, error) {
	r, err := read(pid)
	if err != nil {
		return Reading{}, fmt.Errorf("proc: process %d: %w", pid, err)
	}
	return r, nil
}

// To returns what was used from r to a later reading of the same process. What threads
// waited that ended in between is lost.
func (r Reading) To(later Reading) Spent {
	s := Spent{CPU: max(0, later.cpu-r.cpu), Resident: later.resident}
	if r.queued != nil && later.queued != nil {
		s.Queued = new(time.Duration)
		for tid, waited := range later.queued {
			*s.Queued += max(0, waited-r.queued[tid])
		}
	}
	return s
}
