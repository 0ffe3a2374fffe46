package proc

import "time"

// Spent is what a process used between two readings. What the system does not
// report is nil.
type Spent struct {
	CPU         time.Duration  `json:"cpu_ns"` // user and system
	User        time.Duration  `json:"user_ns"`
	System      time.Duration  `json:"system_ns"`
	Voluntary   *uint64        `json:"voluntary_switches,omitempty"`
	Involuntary *uint64        `json:"involuntary_switches,omitempty"`
	ReadCalls   *uint64        `json:"read_calls,omitempty"`  // read(2) and its like, from /proc/PID/io; recv(2) is not among them
	WriteCalls  *uint64        `json:"write_calls,omitempty"` // write(2) and its like
	Queued      *time.Duration `json:"queued_ns,omitempty"`   // its threads were ready and had no processor
	Resident    int64          `json:"resident"`              // bytes at the second reading; 0 unknown
	Threads     int            `json:"threads,omitempty"`
}
