package proc

import (
	"fmt"
	"os"
	"time"
)

// A Reading is what a process has used since it began, as far as the system
// reports it. It is an immutable value.
type Reading struct {
	pid     int
	began   uint64 // when the process did, in ticks since boot: it distinguishes processes that had the same number
	usage   usage
	threads map[int]thread // by number; nil where threads are not read separately

	// Reading the files of the own process is use of its own. What was counted
	// before that ends an interval, and what was counted after it begins one.
	before, after own
}

// usage is what is counted for a whole process, threads that ended too.
type usage struct {
	cpu, user, system time.Duration
	resident          int64
	threads           int
}

// own are the counts that a reading itself raises.
type own struct {
	switches *switches // nil if they are known by thread only
	io       *calls
	cpu      time.Duration // 0: use usage.cpu
}

type switches struct{ voluntary, involuntary uint64 }

type calls struct{ read, write uint64 }

// A thread is what is counted for a thread, and lost when that ends.
type thread struct {
	switches
	queued    time.Duration
	hasQueued bool
}

// Read reads what the process with a number has used, the calling one for 0.
//
// On Linux it is taken from /proc: proc(5). Elsewhere the calling process can
// be read, by getrusage(2) or its like, and another gives an error that wraps
// errors.ErrUnsupported. A process that does not exist gives one that wraps
// fs.ErrNotExist.
func Read(pid int) (Reading, error) {
	if pid < 0 {
		return Reading{}, fmt.Errorf("proc: %d is no number of a process: %w", pid, os.ErrInvalid)
	}
	r, err := read(pid)
	if err != nil {
		return Reading{}, err
	}
	r.pid = pid
	return r, nil
}

// To returns what was used from r to a later reading of the same process.
//
// Context switches and waiting of another process are known for each of its
// threads: what a thread did between the readings is lost if it ended before
// the second one, so that they are at least so many.
//
// It panics when the readings are of different numbers. When the number went
// to another process in between nothing but Resident and Threads is known.
func (r Reading) To(later Reading) Spent {
	if r.pid != later.pid {
		panic(fmt.Sprintf("proc: a reading of the process %d taken from one of %d", r.pid, later.pid))
	}
	s := Spent{Resident: later.usage.resident, Threads: later.usage.threads}
	if r.began != later.began {
		return s
	}
	s.User = max(0, later.usage.user-r.usage.user)
	s.System = max(0, later.usage.system-r.usage.system)
	from, to := r.usage.cpu, later.usage.cpu
	if r.after.cpu != 0 && later.before.cpu != 0 {
		from, to = r.after.cpu, later.before.cpu
	}
	s.CPU = max(0, to-from)
	if a, b := r.after.io, later.before.io; a != nil && b != nil {
		s.ReadCalls, s.WriteCalls = since(a.read, b.read), since(a.write, b.write)
	}
	byThread, queued, hasQueued := ofThreads(r.threads, later.threads)
	switch a, b := r.after.switches, later.before.switches; {
	case a != nil && b != nil:
		s.Voluntary, s.Involuntary = since(a.voluntary, b.voluntary), since(a.involuntary, b.involuntary)
	case r.threads != nil && later.threads != nil:
		s.Voluntary, s.Involuntary = &byThread.voluntary, &byThread.involuntary
	}
	if hasQueued {
		s.Queued = &queued
	}
	return s
}

// since is a difference of counts that never go back; if one does, none.
func since(a, b uint64) *uint64 {
	if b < a {
		return nil
	}
	n := b - a
	return &n
}

// ofThreads sums what the threads of the second reading did since the first. A
// thread whose counts went back is another with the same number.
func ofThreads(before, after map[int]thread) (sum switches, queued time.Duration, hasQueued bool) {
	for tid, b := range after {
		a, was := before[tid]
		if !was || b.voluntary < a.voluntary || b.involuntary < a.involuntary || b.queued < a.queued {
			a = thread{}
		}
		sum.voluntary += b.voluntary - a.voluntary
		sum.involuntary += b.involuntary - a.involuntary
		if b.hasQueued {
			hasQueued = true
			queued += b.queued - a.queued
		}
	}
	return sum, queued, hasQueued && before != nil
}
