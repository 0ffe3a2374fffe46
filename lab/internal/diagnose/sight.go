package diagnose

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
)

// A sight is the view of the evidence that the rules get.
type sight struct {
	*evidence.Evidence
	cpu     *evidence.Profile // of pprof or, without it, of perf; nil without both
	cpuTool string
	// busy is the processor time for each second of the run that the workload had or,
	// on a shared machine, waited for; at most 1. Shares of processor time are
	// multiplied by it. A workload that uses more than one processor is always busy.
	busy          float64
	reads, writes moved // what strace saw, nil without it
}

func newSight(e *evidence.Evidence) *sight {
	s := &sight{Evidence: e, cpu: e.CPU, cpuTool: evidence.ToolCPU}
	if empty(s.cpu) && e.Perf != nil {
		s.cpu, s.cpuTool = e.Perf.Profile, evidence.ToolPerfRecord
	}
	if empty(s.cpu) {
		s.cpu = nil
	}
	s.busy = busyness(e)
	if e.Calls != nil {
		s.reads, s.writes = movedBy(e.Calls, readCalls), movedBy(e.Calls, writeCalls)
		s.reads.less(&s.writes, wakeSize)
	}
	return s
}

func busyness(e *evidence.Evidence) float64 {
	wanted, took := e.CPUTime+e.Queued, e.Took
	if t := e.Trace; e.Queued <= 0 && t != nil && t.Took > 0 {
		// Goroutines that ran or could have run. System calls count, except those that
		// are known to wait for disks.
		wanted, took = t.Running+t.Runnable+t.Syscall, t.Took
		for _, b := range t.InSyscall {
			if through(b.Frames, isFileSync) {
				wanted -= b.Time
			}
		}
	} else if wanted <= 0 && !empty(e.CPU) {
		wanted = time.Duration(e.CPU.Total)
	}
	if wanted <= 0 || took <= 0 {
		return 1
	}
	return min(1, wanted.Seconds()/took.Seconds())
}

func empty(p *evidence.Profile) bool { return p == nil || p.Total <= 0 }

// cpuShare is the part of the processor time in stacks that f picks.
func (s *sight) cpuShare(f func([]evidence.Frame) bool) float64 { return share(s.cpu, f) }

// cpuIn is the part of the processor time in stacks that pass a function of
// that kind.
func (s *sight) cpuIn(kind matcher) float64 {
	return s.cpuShare(func(frames []evidence.Frame) bool { return through(frames, kind) })
}

// share is the part of a profile's total in stacks that f picks; 0 without a
// profile.
func share(p *evidence.Profile, f func([]evidence.Frame) bool) float64 {
	if empty(p) {
		return 0
	}
	var sum float64
	for _, st := range p.Stacks {
		if f(st.Frames) {
			sum += float64(st.Value)
		}
	}
	return min(1, sum/float64(p.Total))
}

// A spot is a place in the code and its part of a profile.
type spot struct {
	frame evidence.Frame
	share float64 // of the whole profile
}

// spots adds up the stacks that f picks by the frame that at gives for each,
// the largest first. Lines of one function are one spot, at its largest line.
func spots(p *evidence.Profile, f func([]evidence.Frame) bool, at func([]evidence.Frame) evidence.Frame) []spot {
	if empty(p) {
		return nil
	}
	type line struct {
		frame evidence.Frame
		value float64
	}
	sums := map[string]float64{}
	best := map[string]line{}
	lines := map[evidence.Frame]float64{}
	for _, st := range p.Stacks {
		if len(st.Frames) == 0 || !f(st.Frames) {
			continue
		}
		fr := at(st.Frames)
		sums[fr.Func] += float64(st.Value)
		lines[fr] += float64(st.Value)
		if lines[fr] > best[fr.Func].value {
			best[fr.Func] = line{fr, lines[fr]}
		}
	}
	var list []spot
	for fn, sum := range sums {
		list = append(list, spot{best[fn].frame, sum / float64(p.Total)})
	}
	slices.SortFunc(list, func(a, b spot) int {
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.frame.Func, b.frame.Func))
	})
	return list
}

// ownSpots are the places in the user's own code below which the stacks that
// f picks lie.
func ownSpots(p *evidence.Profile, f func([]evidence.Frame) bool) []spot {
	return spots(p, f, func(frames []evidence.Frame) evidence.Frame {
		fr, _ := own(frames)
		return fr
	})
}

func anyStack([]evidence.Frame) bool { return true }

func innermost(frames []evidence.Frame) evidence.Frame { return frames[0] }

// passing picks stacks that pass a function of that kind.
func passing(kind matcher) func([]evidence.Frame) bool {
	return func(frames []evidence.Frame) bool { return through(frames, kind) }
}

// place names a frame for people: function, file and line.
func place(f evidence.Frame) string {
	if f.Func == "" {
		return "unknown"
	}
	name := short(f.Func)
	if f.File == "" {
		return name
	}
	if f.Line == 0 {
		return name + ", " + f.File
	}
	return name + ", " + f.File + ":" + strconv.Itoa(f.Line)
}

// firstPlace names the first of the spots, or what stands for it.
func firstPlace(list []spot, otherwise string) string {
	if len(list) == 0 {
		return otherwise
	}
	return place(list[0].frame)
}

// perSecond is 0 where no time has passed.
func perSecond(n int64, took time.Duration) float64 {
	if took <= 0 {
		return 0
	}
	return float64(n) / took.Seconds()
}
