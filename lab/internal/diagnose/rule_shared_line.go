package diagnose

import (
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// poorScaling is the part of the processors' time that must be lost on several
// processors before the rule reports sharing. Two processors may be two threads of one
// core, each of which does little more than half of what it does alone, and they
// share the memory's bandwidth.
const poorScaling = 0.5

// fewProcessors is how many processors the workload must use at a time before they
// can lose time to sharing.
const fewProcessors = 1.25

// sharedLine: several goroutines work at the same time, on nothing that shows
// as a wait, and with more processors each operation takes more processor time.
// What is left as a reason is memory that goes from processor to processor.
func sharedLine(s *sight) Finding {
	lost, from, to, ok := s.lost()
	if !ok || s.cpu == nil {
		return Finding{}
	}
	// Time in calls, locks and the allocator has other reasons.
	hot := func(frames []evidence.Frame) bool {
		if !isOwn(frames[0].Func) && !isAtomic(frames[0].Func) {
			return false
		}
		return !through(frames, isMalloc) && !through(frames, isLocking)
	}
	list := spots(s.cpu, hot, func(frames []evidence.Frame) evidence.Frame {
		f, _ := own(frames)
		return f
	})
	var all float64
	for _, sp := range list {
		all += sp.share
	}
	if lost < poorScaling || len(list) == 0 || list[0].share < 0.2 {
		return Finding{}
	}
	f := Finding{
		Tool: evidence.ToolScaling, Top: place(list[0].frame), Share: list[0].share,
		Score: lost * all * s.busy,
		Try:   "a counter for each goroutine, each on cache lines of its own (pad to 128 bytes), added up when somebody asks; look for other fields that are written beside what others read",
	}
	f.Clue = fmt.Sprintf("%d processors do %.2f times the work of %d", to.procs, to.rate/from.rate, from.procs)
	if from.cpu > 0 && to.cpu > 0 {
		f.Clue += fmt.Sprintf(", with %.1f times the processor time for each operation", to.cpu/from.cpu)
	}
	f.Clue += fmt.Sprintf("; %s of it is in %s, which waits for no lock: memory that several goroutines write goes to and fro between the processors",
		units.Percent(list[0].share), short(list[0].frame.Func))
	if s.cpuIn(isAtomic) > 0.1 {
		f.Clue += " (atomic operations)"
	}
	if ipc := s.counter("instructions") / s.counter("cycles"); ipc > 0 && ipc < 1 {
		f.Clue += fmt.Sprintf(" (%.2f instructions in a cycle)", ipc)
	}
	return f
}

// counter is one of perf's, 0 without it.
func (s *sight) counter(name string) float64 {
	if s.Perf == nil {
		return 0
	}
	return s.Perf.Counters[name]
}

// A point is what so many processors do.
type point struct {
	procs int
	rate  float64 // operations for each second
	cpu   float64 // nanoseconds of processor time for each operation; 0 not known
}

// parallel is how many goroutines ran at the same time on average, or how many
// processors were busy; without either it is taken to be many.
func (s *sight) parallel() float64 {
	switch t := s.Trace; {
	case t != nil && t.Took > 0:
		return t.Running.Seconds() / t.Took.Seconds()
	case s.CPUTime > 0 && s.Took > 0:
		return s.CPUTime.Seconds() / s.Took.Seconds()
	}
	return 1e6
}

// lost is the part of the processors' time that is lost when there are more
// of them, as far as goroutines use them.
func (s *sight) lost() (part float64, from, to point, ok bool) {
	sc := s.Scaling
	if sc == nil || len(sc.Procs) != len(sc.OpsPerSec) {
		return 0, from, to, false
	}
	for i, n := range sc.Procs {
		p := point{procs: n, rate: sc.OpsPerSec[i]}
		if len(sc.CPUPerOp) == len(sc.Procs) {
			p.cpu = sc.CPUPerOp[i]
		}
		if n < 1 || !(p.rate > 0) {
			continue
		}
		if from.procs == 0 || n < from.procs {
			from = p
		}
		if n > to.procs {
			to = p
		}
	}
	used := min(float64(to.procs)/float64(max(from.procs, 1)), s.parallel())
	if to.cpu > 0 {
		used = to.rate * to.cpu / 1e9 // processors that it had
	}
	if from.procs == to.procs || used < fewProcessors {
		return 0, from, to, false
	}
	if from.cpu > 0 && to.cpu > 0 {
		return 1 - from.cpu/to.cpu, from, to, true
	}
	return 1 - to.rate/from.rate/used, from, to, true
}
