package evidence

import "time"

// Evidence is everything that was seen of one workload.
type Evidence struct {
	Workload string        `json:"workload"` // "planted/small-writes fault", or a URL
	Took     time.Duration `json:"took_ns"`  // of the profiled run
	Ops      int64         `json:"ops"`      // operations within it; 0 not known
	Bytes    int64         `json:"bytes"`    // payload bytes within it; 0 not known
	CPUTime  time.Duration `json:"cpu_ns"`   // the process's, within it; 0 not known
	// ReadCalls and WriteCalls are what the kernel counted within it (lab/proc), which
	// disturbs nothing: read(2) and write(2) and their like; 0 not known.
	ReadCalls  int64 `json:"read_calls,omitempty"`
	WriteCalls int64 `json:"write_calls,omitempty"`
	// Queued is how long its threads were ready within it and had no processor, summed up: what
	// a process lacks on a busy machine. 0 not known.
	Queued time.Duration `json:"queued_ns,omitempty"`

	Tools []Tool `json:"tools"`

	CPU    *Profile `json:"cpu,omitempty"`    // nanoseconds
	Space  *Profile `json:"space,omitempty"`  // bytes allocated
	Allocs *Profile `json:"allocs,omitempty"` // objects allocated
	Mutex  *Profile `json:"mutex,omitempty"`  // nanoseconds that others waited, at the unlock
	Block  *Profile `json:"block,omitempty"`  // nanoseconds waited

	Trace   *Trace   `json:"trace,omitempty"`
	Calls   *Calls   `json:"calls,omitempty"`
	Perf    *Perf    `json:"perf,omitempty"`
	Scaling *Scaling `json:"scaling,omitempty"`
}

// A Tool is one of the tools, and what became of it.
type Tool struct {
	Name  string `json:"name"`  // of Tools(): pprof cpu, pprof allocs, pprof locks, trace, strace, perf stat, perf record, scaling
	State string `json:"state"` // ok, missing, failed
	Note  string `json:"note,omitempty"`
}

// A Profile is a set of stacks with their values.
type Profile struct {
	Unit   string  `json:"unit"` // ns, B or objects
	Total  int64   `json:"total"`
	Stacks []Stack `json:"stacks"` // largest first; the smallest may have been put together under one frame "(other)"
}

// A Stack is a call path, the innermost frame first.
type Stack struct {
	Value  int64   `json:"value"`
	Count  int64   `json:"count,omitempty"` // samples, or times
	Frames []Frame `json:"frames"`
}

// A Frame is one call.
type Frame struct {
	Func string `json:"func"`           // with its package's path
	File string `json:"file,omitempty"` // base name
	Line int    `json:"line,omitempty"`
}

// A Trace is what the execution trace says. Times of states are summed over
// goroutines.
type Trace struct {
	Took     time.Duration `json:"took_ns"`
	Procs    int           `json:"procs"`
	Running  time.Duration `json:"running_ns"` // the runtime's own goroutines are in none of these four
	Runnable time.Duration `json:"runnable_ns"`
	Waiting  time.Duration `json:"waiting_ns"`
	Syscall  time.Duration `json:"syscall_ns"`
	// Blocked is where goroutines waited, longest first: by reason ("sync", "select", "network", "chan receive", "sleep", ...) and stack.
	Blocked []Blocking `json:"blocked"`
	// InSyscall is where goroutines were in system calls that blocked: that lost their
	// processor to another goroutine meanwhile, or took 20 µs and more.
	InSyscall []Blocking `json:"in_syscall"`
	// Latency is how long goroutines that could run waited to do so.
	Latency Latency       `json:"latency"`
	GCs     int           `json:"gcs"`
	GC      time.Duration `json:"gc_ns"`      // while a collection was under way
	GCWork  time.Duration `json:"gc_work_ns"` // processors' time of background workers and assists
	GCIdle  time.Duration `json:"gc_idle_ns"` // the part of GCWork on processors that had nothing else to do
	Stopped time.Duration `json:"stopped_ns"` // the world was
}

// Blocking is time spent waiting in one place.
type Blocking struct {
	Reason string        `json:"reason"`
	Time   time.Duration `json:"time_ns"`
	Count  int64         `json:"count"`
	Open   int64         `json:"open,omitempty"` // those of Count that had not ended when the trace did
	Frames []Frame       `json:"frames"`
	// WhileIO is how much of Time passed while a goroutine that was last seen inside
	// the same lock (it made the waiter ready in the end) was in I/O or asleep.
	WhileIO time.Duration `json:"while_io_ns,omitempty"`
	// Holder is the stack of the goroutine that ended most of the waits.
	Holder []Frame `json:"holder,omitempty"`
}

// Latency is a small distribution.
type Latency struct {
	Count int64         `json:"count"`
	P50   time.Duration `json:"p50_ns"`
	P99   time.Duration `json:"p99_ns"`
	Max   time.Duration `json:"max_ns"`
}

// Calls are system calls as strace saw them.
type Calls struct {
	Took   time.Duration `json:"took_ns"`
	Total  int64         `json:"total"`
	Ops    int64         `json:"ops,omitempty"` // of the workload meanwhile, roughly; 0 not known
	ByName []Call        `json:"by_name"`       // most first
}

// A Call is one system call of those that were seen.
type Call struct {
	Name   string        `json:"name"`
	Count  int64         `json:"count"`
	Errors int64         `json:"errors"` // EAGAIN too
	Time   time.Duration `json:"time_ns"`
	// Sizes are the results of calls that move bytes, by exact size, most frequent first, at
	// most 64 of them; Asked what was asked for.
	Sizes    []Size `json:"sizes,omitempty"`
	Asked    []Size `json:"asked,omitempty"`
	Bytes    int64  `json:"bytes"`
	Under512 int64  `json:"under_512"` // calls that moved 1..511 bytes
	Full     int64  `json:"full"`      // calls that moved just as many as were asked for
}

// A Size is how often a number of bytes came up.
type Size struct {
	Bytes int64 `json:"bytes"`
	Count int64 `json:"count"`
}

// Perf is what perf counted, where the machine has the events.
type Perf struct {
	Took        time.Duration      `json:"took_ns,omitempty"` // of the counters
	Counters    map[string]float64 `json:"counters"`
	Unsupported []string           `json:"unsupported,omitempty"`
	Profile     *Profile           `json:"profile,omitempty"` // of perf record, with the kernel's frames
}

// Scaling is how the workload does with so many processors: what takes longer with
// two than with one does not share well.
type Scaling struct {
	Procs     []int     `json:"procs"`
	OpsPerSec []float64 `json:"ops_per_second"`
	// CPUPerOp is the processor time of an operation in nanoseconds: unlike the rate it
	// hardly changes when others use the machine. It may be empty.
	CPUPerOp []float64 `json:"cpu_ns_per_op,omitempty"`
}
