package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/units"
)

type facts struct {
	*evidence.Evidence
	goProgram bool              // written in Go, as far as is known
	cpu       *evidence.Profile // of pprof or, without it, of perf; nil without both
	cpuTool   string
	// busy is the processor time for each second that the program had or,
	// on a shared machine, waited for; at most 1. Shares of processor time are
	// multiplied by it. A program that uses more than one processor is always busy.
	busy float64
	// idle says that it wanted so little that nothing which costs processor time can cost much.
	idle          bool
	waits         *evidence.Waits // what waitsTool saw of goroutines, nothing without it
	waitsTool     string
	calls         *evidence.Calls // what strace saw, nothing without it
	reads, writes moved           // of those
}

func newFacts(e *evidence.Evidence) *facts {
	f := &facts{Evidence: e, cpu: e.CPU, cpuTool: evidence.ToolCPU, busy: 1, calls: cmp.Or(e.Calls, new(evidence.Calls)), waits: cmp.Or(e.Waits, new(evidence.Waits)), waitsTool: evidence.ToolGoroutines}
	if !e.Saw(f.waitsTool) {
		f.waitsTool = evidence.ToolTrace
	}
	// pprof knows inlined functions, but takes a tenth of perf's samples.
	if e.Perf != nil && samples(f.cpu) < fewSamples && samples(e.Perf) > samples(f.cpu) {
		f.cpu, f.cpuTool = e.Perf, evidence.ToolPerfRecord
	}
	if empty(f.cpu) {
		f.cpu = nil
	}
	f.goProgram = e.Go != "" || e.Waits != nil || !empty(e.CPU) || e.Space != nil || e.Block != nil
	wanted := e.CPUTime + e.Queued
	if f.cpu != nil { // what the program started is in the profile only
		wanted = max(wanted, time.Duration(f.cpu.Total))
	}
	if w := e.Waits; w != nil && !e.Saw(evidence.ToolProc) { // what is ready and has no processor is wanted too
		wanted = max(wanted, time.Duration((w.Running+w.Runnable)*float64(e.Took)))
	}
	f.idle = e.Took > 0 && wanted.Seconds() < Significant*e.Took.Seconds() && (e.Saw(evidence.ToolProc) || e.Waits != nil)
	if e.Took > 0 && (f.cpu != nil || e.Saw(evidence.ToolProc) || e.Saw(evidence.ToolPerfRecord)) {
		f.busy = min(1, wanted.Seconds()/e.Took.Seconds())
	}
	f.reads, f.writes = movedBy(f.calls, readCalls), movedBy(f.calls, writeCalls)
	return f
}

func empty(p *evidence.Profile) bool { return p == nil || p.Total <= 0 }

func (f *facts) cpuShare(pick func([]evidence.Frame) bool) float64 {
	if f.cpu == nil {
		return 0
	}
	var sum float64
	for _, st := range f.cpu.Stacks {
		if pick(st.Frames) {
			sum += float64(st.Value)
		}
	}
	return min(1, sum/float64(f.cpu.Total))
}

func (f *facts) cpuIn(kind matcher) float64 { return f.cpuShare(passing(kind)) }

// fewSamples is the number of samples below which shares of processor time say nothing.
const fewSamples = 40

func tooFew(p *evidence.Profile) string {
	return fmt.Sprintf("only %s samples of its processor time: look for longer (--time)", units.Count(samples(p)))
}

func samples(p *evidence.Profile) int64 {
	var n int64
	if p != nil {
		for _, st := range p.Stacks {
			n += st.Count
		}
	}
	return n
}

type spot struct {
	frame evidence.Frame
	share float64 // of the whole profile
}

// spots adds up the stacks that pick picks by the frame that at gives for each,
// the largest first. Lines of one function are one spot, at its largest line.
func spots(p *evidence.Profile, pick func([]evidence.Frame) bool, at func([]evidence.Frame) evidence.Frame) []spot {
	if empty(p) {
		return nil
	}
	sums := map[string]float64{}
	best := map[string]evidence.Frame{}
	lines := map[evidence.Frame]float64{}
	for _, st := range p.Stacks {
		if len(st.Frames) == 0 || !pick(st.Frames) {
			continue
		}
		fr := at(st.Frames)
		sums[fr.Func] += float64(st.Value)
		lines[fr] += float64(st.Value)
		if lines[fr] > lines[best[fr.Func]] {
			best[fr.Func] = fr
		}
	}
	var list []spot
	for fn, sum := range sums {
		list = append(list, spot{best[fn], sum / float64(p.Total)})
	}
	slices.SortFunc(list, func(a, b spot) int {
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.frame.Func, b.frame.Func))
	})
	return list
}

// where names the place in the user's own code below which most of the stacks lie that
// pick picks, or what stands for it: a function of the kernel's or of a runtime says nothing.
func where(p *evidence.Profile, pick func([]evidence.Frame) bool, otherwise string) string {
	list := spots(p, pick, ownOrInnermost)
	if own := slices.IndexFunc(list, func(s spot) bool { return s.frame.Own() }); own >= 0 {
		return place(list[own].frame)
	}
	return otherwise
}

func ownOrInnermost(frames []evidence.Frame) evidence.Frame {
	f, _ := evidence.Own(frames)
	return f
}

func anyStack([]evidence.Frame) bool { return true }

func innermost(frames []evidence.Frame) evidence.Frame { return frames[0] }

func place(f evidence.Frame) string {
	name := document.ShortName(f.Func)
	switch {
	case f.Func == "":
		return "unknown"
	case f.File != "" && f.Line != 0:
		return name + ", " + f.File + ":" + strconv.Itoa(f.Line)
	case f.File != "":
		return name + ", " + f.File
	}
	return name
}

// plain repeats what each tool saw most of, in the order of the tools.
func (s *facts) plain() []Finding {
	var list []Finding
	add := func(tool, top string, share float64, clue string) {
		list = append(list, Finding{Tool: tool, Top: top, Share: min(max(share, 0), 1), Clue: clue})
	}
	for _, p := range []struct {
		tool    string
		profile *evidence.Profile
		at      func([]evidence.Frame) evidence.Frame
		clue    string
	}{
		{evidence.ToolCPU, s.CPU, innermost, "of the processor time in the function itself"},
		{evidence.ToolAllocs, s.Space, ownOrInnermost, "of the bytes allocated"},
		{evidence.ToolLocks, s.Block, ownOrInnermost, "of the time that goroutines waited"},
		{evidence.ToolPerfRecord, s.Perf, innermost, "of the processor time in the function itself, the kernel's included"},
	} {
		if top := spots(p.profile, anyStack, p.at); len(top) > 0 {
			add(p.tool, place(top[0].frame), top[0].share, units.Percent(top[0].share)+" "+p.clue+", "+units.Figure(float64(p.profile.Total), p.profile.Unit)+" in all")
		} else if p.profile != nil {
			add(p.tool, "nothing", 0, "no sample")
		}
	}
	if w := s.waits; len(w.Places) > 0 {
		p := w.Places[0]
		add(s.waitsTool, place(ownOrInnermost(p.Frames)), p.Mean/max(1e-9, w.Running+w.Runnable+w.Syscall+w.Waiting), fmt.Sprintf("%s of %s goroutines at any time: %s", units.Number(p.Mean), units.Count(w.Last), p.Reason))
	}
	if c := s.Calls; c != nil {
		if len(c.ByName) > 0 && c.Total > 0 {
			top := c.ByName[0]
			clue := units.Plural(top.Count, "call")
			if len(top.Sizes) > 0 && top.Sizes[0].Bytes > 0 {
				clue += ", most often of " + units.Bytes(top.Sizes[0].Bytes)
			}
			add(evidence.ToolStrace, top.Name, float64(top.Count)/float64(c.Total), clue)
		} else {
			add(evidence.ToolStrace, "nothing", 0, "no system call ended")
		}
	}
	if sh := s.Sharing; sh != nil && sh.Samples > 0 {
		add(evidence.ToolSharing, "cache lines", sh.Shared, fmt.Sprintf("%s of %s samples with several threads running, %s at a line that several used", units.Percent(sh.Parallel), units.Count(sh.Samples), units.Percent(sh.Shared)))
	}
	return list
}
