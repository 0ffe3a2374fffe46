package evidence

import (
	"slices"
	"time"
)

// Evidence is everything that was seen of one program.
type Evidence struct {
	Workload   string        `json:"workload"`             // a command, a process, a URL, or files
	Command    bool          `json:"command,omitempty"`    // it was started here
	Go         string        `json:"go,omitempty"`         // the version of Go that it is built with; empty for other programs
	Took       time.Duration `json:"took_ns"`              // that the longest of the tools looked
	CPUTime    time.Duration `json:"cpu_ns"`               // the program's within Took; 0 not known
	Processors int           `json:"processors,omitempty"` // of the machine; 0 not known
	Others     float64       `json:"others,omitempty"`     // of the processors, how many other programs used on average meanwhile
	Queued     time.Duration `json:"queued_ns,omitempty"`  // how long its threads were ready and had no processor, in all; 0 not known

	Tools []Tool `json:"tools"`

	CPU   *Profile `json:"cpu,omitempty"`   // nanoseconds
	Space *Profile `json:"space,omitempty"` // bytes allocated
	Mutex *Profile `json:"mutex,omitempty"` // nanoseconds that others waited, at the unlock
	Block *Profile `json:"block,omitempty"` // nanoseconds waited

	Waits *Waits   `json:"waits,omitempty"`
	Calls *Calls   `json:"calls,omitempty"`
	Perf  *Profile `json:"perf,omitempty"` // of perf record, with the kernel's frames
	// UserOnly says that those are not in it, since perf was not permitted to see them.
	UserOnly bool     `json:"user_only,omitempty"`
	Sharing  *Sharing `json:"sharing,omitempty"`
	Quota    *Quota   `json:"quota,omitempty"` // nil where its control groups were not stopped
}

// The tools, as Tool.Name calls them, in the order in which they are used.
const (
	ToolProc       = "proc"
	ToolCgroup     = "cgroup"
	ToolCPU        = "pprof cpu"
	ToolAllocs     = "pprof allocs"
	ToolLocks      = "pprof locks" // the profiles of mutexes and of blocking; of files only
	ToolGoroutines = "goroutines"
	ToolPerfRecord = "perf record"
	ToolTrace      = "trace"
	ToolStrace     = "strace"
	ToolSharing    = "sharing"
)

// Tools returns the names of all tools. The slice is the caller's own.
func Tools() []string {
	return []string{ToolProc, ToolCgroup, ToolCPU, ToolAllocs, ToolLocks, ToolGoroutines, ToolPerfRecord, ToolTrace, ToolStrace, ToolSharing}
}

// What became of a tool: Tool.State.
const (
	OK       = "ok"
	Missing  = "missing" // not installed, not permitted, or nothing to do here
	Failed   = "failed"
	Unneeded = "not needed" // another has seen what it would have seen
)

// A Tool is one of the tools, and what became of it.
type Tool struct {
	Name  string `json:"name"`  // of Tools()
	State string `json:"state"` // ok, missing, failed, not needed
	Note  string `json:"note,omitempty"`
}

// Saw reports whether a tool was used with success.
func (e *Evidence) Saw(tool string) bool { return e.state(tool).State == OK }

// Why says why a tool saw nothing.
func (e *Evidence) Why(tool string) string {
	switch t := e.state(tool); {
	case t.State == "":
		return tool + " was not used"
	case t.Note != "":
		return tool + " " + t.State + ": " + t.Note
	default:
		return tool + " " + t.State
	}
}

func (e *Evidence) state(tool string) Tool {
	if at := slices.IndexFunc(e.Tools, func(t Tool) bool { return t.Name == tool }); at >= 0 {
		return e.Tools[at]
	}
	return Tool{}
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
	// Native marks a function of a program in another language than Go, outside the libraries
	// of the system.
	Native bool `json:"native,omitempty"`
}

// Waits is what goroutines did at many moments: of a process, from its memory, or
// replayed from an execution trace. Numbers of goroutines are means over the moments.
type Waits struct {
	Took     time.Duration `json:"took_ns"`
	Samples  int           `json:"samples"`
	First    int           `json:"first"` // goroutines at the first moment, the runtime's own left out
	Last     int           `json:"last"`
	Running  float64       `json:"running"`
	Runnable float64       `json:"runnable"` // ready, without a processor
	Syscall  float64       `json:"syscall"`
	Waiting  float64       `json:"waiting"`
	Places   []Place       `json:"places"` // most goroutines first
}

// A Place is where goroutines waited, or were in system calls.
type Place struct {
	Reason string  `json:"reason"` // as the runtime calls it: "sync.Mutex.Lock", "IO wait", "chan receive", "syscall", ...
	Mean   float64 `json:"mean"`   // goroutines
	First  int     `json:"first"`  // at the first moment
	Last   int     `json:"last"`
	Grew   bool    `json:"grew,omitempty"` // there were more and more, and never fewer
	// WhileIO is in which part of the moments in which goroutines waited here exactly one
	// other was in I/O or asleep below the same function: the holder of the lock.
	WhileIO float64 `json:"while_io,omitempty"`
	// Serves says that a library's server called what waits here, and that it returned: for one request of many.
	Serves bool `json:"serves,omitempty"`
	// Alone is in which part of them exactly one of the goroutines that wait here at times worked, or was ready: the one
	// that has what others wait for.
	Alone float64 `json:"alone,omitempty"`
	// Pool is how many others were in I/O or asleep below it in most of those moments, where that is more than one and
	// not for a lock: those that have the connections, or places, that there are.
	Pool   int     `json:"pool,omitempty"`
	Frames []Frame `json:"frames"`
}

// Calls are system calls as strace saw them.
type Calls struct {
	Took   time.Duration `json:"took_ns"`
	Total  int64         `json:"total"`
	ByName []Call        `json:"by_name"` // most first
	// LockTime is how long threads waited for locks of the C library or of Rust's, and LockIO how long
	// those threads were in I/O or asleep meanwhile, all added up.
	LockTime time.Duration `json:"lock_time_ns,omitempty"`
	LockIO   time.Duration `json:"lock_io_ns,omitempty"`
	// Woken is how often a thread waited for another in a way that does not say whether for a
	// lock or for work, and was woken.
	Woken int64 `json:"woken,omitempty"`
	// Parked is how long the threads that often did were in it until they were woken, Timeouts until
	// their time was over, and ParkedIO how long they were in I/O or asleep, all added up.
	Parked   time.Duration `json:"parked_ns,omitempty"`
	Timeouts time.Duration `json:"timeouts_ns,omitempty"`
	ParkedIO time.Duration `json:"parked_io_ns,omitempty"`

	// Blocked is how long threads that wait for events were away from them in one step while several became ready,
	// all added up, and Turns how often.
	Blocked time.Duration `json:"blocked_ns,omitempty"`
	Turns   int64         `json:"turns,omitempty"`
	Mishaps

	// Replies is how often something was read behind what was written to the same file. Delayed is how many of
	// them came as late behind small writes as a delayed acknowledgement, and DelayedTime
	// their time.
	Replies     int64         `json:"replies,omitempty"`
	Delayed     int64         `json:"delayed,omitempty"`
	DelayedTime time.Duration `json:"delayed_ns,omitempty"`
	// Dialled is the address that was connected to most often over TCP, or the program itself, and Requests how many
	// writes those connections had.
	Dialled  Repeated `json:"dialled,omitzero"`
	Requests int64    `json:"requests,omitempty"`
	// Opened is the file that one process opened, or asked about by its name, most often. Reopened of all Opens were
	// of one that it had before.
	Opened   Repeated `json:"opened,omitzero"`
	Opens    int64    `json:"opens,omitempty"`
	Reopened int64    `json:"reopened,omitempty"`
}

// Mishaps are what happens to requests and should not, or keeps them waiting, with how many came.
type Mishaps struct {
	// NoFiles is how many calls failed since the process had as many files open as it may.
	NoFiles int64 `json:"no_files,omitempty"`
	// Refused is the address to which most connections could not be made.
	Refused Repeated `json:"refused,omitzero"`
	// Sleeps is how often a thread read from a connection that was accepted, slept, and answered; Slept how long in all.
	Sleeps  int64         `json:"sleeps,omitempty"`
	Slept   time.Duration `json:"slept_ns,omitempty"`
	Covered int64         `json:"covered,omitempty"` // requests read before an fsync ended, and answered after it; or threads woken then
	Asking  float64       `json:"asking,omitempty"`  // names of hosts that servers were asked for at any time
	// Accepted is how many connections were accepted over TCP, and Answers how often something was written to one, also one
	// from before, behind what was read from it.
	Accepted int64 `json:"accepted,omitempty"`
	Answers  int64 `json:"answers,omitempty"`
}

// A Call is one system call of those that were seen.
type Call struct {
	Name   string        `json:"name"`
	Count  int64         `json:"count"`
	Errors int64         `json:"errors"` // EAGAIN too
	Time   time.Duration `json:"time_ns"`
	// Sizes are the results of calls that move bytes, by exact size, most frequent first, at
	// most 64 of them; Asked what was asked for.
	Sizes []Size `json:"sizes,omitempty"`
	Asked []Size `json:"asked,omitempty"`
	Bytes int64  `json:"bytes"`
	Full  int64  `json:"full"` // calls that moved just as many as were asked for
	// Again is how many calls that moved 1..511 bytes followed one in the same direction on the same file,
	// with nothing moved the other way in between: not the steps of a dialogue.
	Again int64 `json:"again,omitempty"`
	// Watched is how many descriptors all calls of poll and select were given.
	Watched int64 `json:"watched,omitempty"`
	Empty   int64 `json:"empty,omitempty"` // calls that asked without waiting whether there is something, and there was not
}

// A Size is how often a number of bytes came up.
type Size struct {
	Bytes int64 `json:"bytes"`
	Count int64 `json:"count"`
}

// Sharing is what the addresses say that the program was writing to when it was sampled.
type Sharing struct {
	Samples  int     `json:"samples"`  // in the program's own code
	Parallel float64 `json:"parallel"` // part of them in times in which several threads ran
	Shared   float64 `json:"shared"`   // part of them at a cache line that several threads used at that time, one of them writing
	Line     string  `json:"line,omitempty"`
	Threads  int     `json:"threads,omitempty"`
	Where    *Frame  `json:"where,omitempty"` // most of those samples
}
