package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/units"
)

func collecting(frames []evidence.Frame) bool {
	return through(frames, isGC) && !through(frames, isIdleGC)
}

// usualPart is the part of the processor time that common programs, compilers say, spend on
// their memory, or on texts.
const usualPart = 0.25

// aboveUsual is what a program gives back at most that can go down to the usual part.
func aboveUsual(part float64) float64 { return (part - usualPart) / (1 - usualPart) }

// allocations: much of the processor time goes into making garbage and taking
// it away.
func allocations(s *facts) (Finding, string) {
	gc := s.cpuShare(collecting)
	malloc := s.cpuShare(func(frames []evidence.Frame) bool {
		return through(frames, either(isMalloc, isFree)) && !collecting(frames)
	})
	if malloc == 0 && (s.goProgram || gc == 0) {
		return Finding{}, ""
	}
	f := finding(s.cpuTool, where(s.cpu, passing(isMalloc), "malloc"), malloc+gc, aboveUsual(malloc+gc)*s.busy,
		"allocating and freeing took %s of the processor time", units.Percent(malloc))
	if gc > 0 {
		f.Clue += ", GC " + units.Percent(gc)
	}
	if s.goProgram && gc > 2*malloc {
		f.Try = "let the heap grow further before it is collected (a higher GOGC, with GOMEMLIMIT as the bound); " + advice["allocations"]
	}
	if !s.goProgram && gc > malloc {
		f.Clue, f.Top = "GC took "+units.Percent(gc)+" of the processor time", "GC"
		f.Try = "give the heap room (java -Xmx, node --max-old-space-size): it is collected again and again when it is nearly full; allocate less for each request"
	}
	if top := spots(s.Space, anyStack, ownOrInnermost); len(top) > 0 {
		f.Tool, f.Top, f.Share = evidence.ToolAllocs, place(top[0].frame), top[0].share
		f.Clue += fmt.Sprintf("; %s of the bytes are allocated here", units.Percent(top[0].share))
	}
	return f, ""
}

// flushPerWrite: a compressor is flushed for each little write.
func flushPerWrite(s *facts) (Finding, string) {
	cpu := s.cpuIn(isFlush)
	work := s.cpuShare(func(frames []evidence.Frame) bool { return through(frames, isFlush) && through(frames, isBlockWork) })
	if cpu == 0 || work < cpu/4 {
		return Finding{}, ""
	}
	// Name the caller of the flush, who decides when to flush, and not the compressor,
	// which may be a third-party package.
	list := spots(s.cpu, passing(isFlush), caller)
	// The tables are half of what a block costs by itself, the calls that write it the other half.
	return finding(s.cpuTool, place(list[0].frame), cpu, min(cpu, 2*work)*s.busy,
		"%s of the processor time passed in Flush of a compressor, %s for the tables of its blocks", units.Percent(cpu), units.Percent(work)), ""
}

// caller is the own frame outside of the outermost compressor's flush.
func caller(frames []evidence.Frame) evidence.Frame {
	last := 0
	for i, f := range frames {
		if isFlush(f.Func) {
			last = i
		}
	}
	if f, ok := evidence.Own(frames[last+1:]); ok {
		return f
	}
	return frames[last]
}

// busySpin: the program asks again and again. Of a goroutine that yields, as Go's collector does in passing, the
// scheduler's stack alone is seen.
func busySpin(s *facts) (Finding, string) {
	const yielding = "runtime.Gosched"
	f := s.spent(without(isAsking, either(isBriefly, isGC)), yielding, "calls that ask whether there is something and do not wait")
	switch {
	case !s.goProgram || f.Top != yielding:
	case f.Score < Significant, s.waitingIn(isRuntimeCall).blocked() >= Significant: // who asks for a collection yields until it is over
		return Finding{}, ""
	default:
		return Finding{}, units.Percent(f.Share) + " of its processor time goes by in runtime.Gosched: a profile does not say which goroutine yields again and again"
	}
	return f, ""
}

// pageFaults: memory is given to the kernel and fetched from it all the time.
func pageFaults(s *facts) (Finding, string) {
	switch {
	case s.Perf == nil || s.idle:
		return Finding{}, ""
	case s.UserOnly:
		return Finding{}, "perf was not permitted to see the kernel: as root"
	case samples(s.Perf) < fewSamples:
		return Finding{}, tooFew(s.Perf)
	}
	kernel := *s
	kernel.cpu, kernel.cpuTool = s.Perf, evidence.ToolPerfRecord
	f := kernel.spent(passing(isFaulting), "page faults", "page faults and in giving memory back to the kernel")
	f.Score = aboveUsual(f.Share) * s.busy
	return f, ""
}

// processes: programs or threads are started, and end, with little to do for each.
func processes(s *facts) (Finding, string) {
	f := s.spent(passing(isStarting), "fork and exec", "starting and ending processes and threads, the loading of their libraries included")
	lost := 0.0 // the part that perf missed, of a program that starts threads again and again
	if s.Perf != nil && s.CPUTime > 0 && s.begun() >= fewStarts {
		lost = 1 - float64(s.Perf.Total)/float64(s.CPUTime)
	}
	switch {
	case s.idle:
	case lost > f.Share:
		f = finding(evidence.ToolStrace, "clone", lost, lost*s.busy,
			"%s threads or processes began within %s, and %s of the processor time passed in such as end within a millisecond, which perf cannot sample",
			units.Count(s.begun()), units.Time(s.calls.Took), units.Percent(lost))
	case samples(s.cpu) < fewSamples:
		return Finding{}, tooFew(s.cpu)
	}
	return f, ""
}

// begun is how many threads and processes began.
func (s *facts) begun() (n int64) {
	for _, c := range s.calls.ByName {
		if isBeginning(c.Name) {
			n += c.Count - c.Errors
		}
	}
	return n
}

// fewStarts is how many threads have to begin while strace looks for that to say something.
const fewStarts = 100

// excessive is spending where common programs spend some time, too.
func excessive(pick func([]evidence.Frame) bool, top, what string) func(*facts) (Finding, string) {
	return func(s *facts) (Finding, string) {
		f := s.spent(pick, top, what)
		f.Score = aboveUsual(f.Share) * s.busy
		return f, ""
	}
}

// mostHashing is the part of the processor time from which on there is no other work to speak of.
const mostHashing = 0.9

// passwordHashing: keys are derived from passwords with each request, and not once at a login. What logs users in has
// no other work, and its clients go when they are in.
func passwordHashing(s *facts) (Finding, string) {
	f, c := s.spent(passing(isHashing), "password hashing", "deriving keys from passwords"), s.calls
	if f.Share < mostHashing || f.Score < Significant || c.Answers >= fewRepeats && c.Answers > mostOnNew*c.Accepted {
		return f, ""
	}
	return Finding{}, units.Percent(f.Share) + " of the processor time passed in deriving keys from passwords, and few requests were seen behind others on one connection: it is the work of what logs users in, and a fault where it is done with each request"
}

// firstLook is how many times as long as copying a text it may take to look for its end before that, when only the first
// of the two finds it in no cache.
const firstLook = 4.5

// scannedAgain: the ends of texts are looked for, each time from the beginning. Texts that are copied where that is done
// may have been looked at once each.
func scannedAgain(s *facts) (Finding, string) {
	f, _ := excessive(passing(isScanning), "strlen", "looking for the ends of texts")(s)
	var places []string
	for _, spot := range spots(s.cpu, passing(isScanning), ownOrInnermost) {
		places = append(places, spot.frame.Func)
	}
	copied := s.cpuShare(func(frames []evidence.Frame) bool {
		return through(frames, isCopying) && slices.Contains(places, ownOrInnermost(frames).Func)
	})
	if f.Score >= Significant && aboveUsual(f.Share-firstLook*copied)*s.busy < Significant {
		return Finding{}, fmt.Sprintf("%s of the processor time passed in looking for the ends of texts, and %s in copying at the same place: a profile does not say whether that was once for each text", units.Percent(f.Share), units.Percent(copied))
	}
	return f, ""
}

// named is a rule that goes by the names of the program's own functions. Those that were made at run time, as Java's
// and JavaScript's are, have none for perf.
func named(look func(*facts) (Finding, string)) func(*facts) (Finding, string) {
	return func(s *facts) (Finding, string) {
		f, open := look(s)
		made := s.cpuShare(func(frames []evidence.Frame) bool {
			return len(frames) > 0 && frames[0].Func == evidence.UnknownFrame && strings.HasPrefix(frames[0].File, "perf-")
		})
		if open != "" || f.Score >= Significant || made*s.busy < Significant {
			return f, open
		}
		return Finding{}, fmt.Sprintf("%s of the processor time passed in functions made at run time, which perf cannot name: a profiler of the language can (Java Flight Recorder; node --perf-basic-prof)", units.Percent(made))
	}
}

// spending is a rule for processor time in functions of a kind, whatever they are called for.
func spending(pick func([]evidence.Frame) bool, top, what string) func(*facts) (Finding, string) {
	return func(s *facts) (Finding, string) { return s.spent(pick, top, what), "" }
}

func (s *facts) spent(pick func([]evidence.Frame) bool, top, what string) Finding {
	cpu := s.cpuShare(pick)
	return finding(s.cpuTool, where(s.cpu, pick, top), cpu, cpu*s.busy, "%s of the processor time passed in %s", units.Percent(cpu), what)
}

const (
	// poorSharing is the part of the samples at lines that several threads use from which on the rule
	// reports it.
	poorSharing = 0.25
	// hardlyParallel is the part of the samples with several threads running under which
	// nothing can be said.
	hardlyParallel = 0.2
)

// sharedLine: several threads write to the same cache line at the same time.
func sharedLine(s *facts) (Finding, string) {
	sh := s.Sharing
	if sh == nil || sh.Samples == 0 {
		return Finding{}, ""
	}
	// Time in calls, locks and the allocator has other reasons.
	own := s.cpuShare(func(frames []evidence.Frame) bool {
		return len(frames) > 0 && (frames[0].Own() || isAtomic(frames[0].Func)) && !through(frames, isMalloc) && !through(frames, isLocking)
	})
	if own*s.busy < Significant {
		return Finding{}, ""
	}
	if sh.Parallel < hardlyParallel && locked(s.queues(), (*queue).blocked).Score >= Significant {
		return Finding{}, "" // that is why they run one after the other
	}
	if sh.Parallel < hardlyParallel || sh.Samples < fewSamples {
		return Finding{}, fmt.Sprintf("several of its threads ran at the same time in %s of %s samples only, since others use the processors: what they share does not show", units.Percent(sh.Parallel), units.Count(sh.Samples))
	}
	shared := min(1, sh.Shared/sh.Parallel)
	if shared < poorSharing || sh.Where == nil {
		return Finding{}, ""
	}
	return finding(evidence.ToolSharing, place(*sh.Where), shared, shared*own*s.busy,
		"%d threads were at the cache line %s at the same time and wrote to it, in %s of the samples with several running: it goes to and fro between the processors",
		sh.Threads, sh.Line, units.Percent(shared)), ""
}
